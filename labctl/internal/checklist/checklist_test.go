package checklist_test

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"academy.example/lab/checklists"
	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/checklist"
	"academy.example/lab/labctl/internal/checklist/plain"
	"academy.example/lab/labctl/internal/checklist/source"
	"academy.example/lab/labctl/internal/exercise/recorded"
	"academy.example/lab/labctl/internal/exercise/shelf"
	"academy.example/lab/labctl/internal/report"
)

// runsDir holds one recorded run with a graceful delete, a forced one and a kill.
const runsDir = "../../../exercises/05-delete-it-as-typed/testdata/runs"

func list(t testing.TB) checklist.List {
	t.Helper()
	lists, err := checklist.Load(checklists.FS)
	if err != nil {
		t.Fatal(err)
	}
	return lists[0]
}

func runs(t testing.TB, dir string) []recorded.Run {
	t.Helper()
	all, skipped := shelf.Runs(dir, "", time.Time{})
	if err := errors.Join(skipped...); err != nil {
		t.Fatal(err)
	}
	return all
}

func evidence(dir string) checklist.Evidence {
	return checklist.Evidence{ClientGo: source.Version, Run: func(name string) (recorded.Run, bool, error) {
		if _, err := os.Stat(filepath.Join(dir, name)); errors.Is(err, fs.ErrNotExist) {
			return recorded.Run{}, false, nil
		}
		r, err := shelf.Run(filepath.Join(dir, name))
		return r, true, err
	}}
}

// words are what a student writes.
var words = map[string]string{"B1": "2 s", "C1": "15 s", "D1": "15,0 s", "E1": "that the record has not changed", "E2": "leaderelection.go:548-554",
	"E3": "leaderelection.go:279-312 (v0.37.2)", "E4": "it got SIGTERM", "F1": "one that goes back"}

// solved is a checklist as it is when it is done.
func solved(t testing.TB) string {
	t.Helper()
	text, err := plain.Decode([]byte(list(t).Template))
	if err != nil {
		t.Fatal(err)
	}
	list(t).Fill(&text, checklist.Known{Runs: runs(t, runsDir), ClientGo: source.Version})
	out := string(text.Encode())
	for id, value := range words {
		out = put(out, id, value)
	}
	return out
}

// put writes a value into a field's line.
func put(text, id, value string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "- **"+id+" ") {
			lines[i] = l[:strings.Index(l, ":**")+3] + " " + value
		}
	}
	return strings.Join(lines, "\n")
}

func get(r checklist.Result, id string) checklist.Item {
	i := slices.IndexFunc(r.Items, func(i checklist.Item) bool { return i.ID == id })
	return r.Items[i]
}

func checked(t testing.TB, text string, e checklist.Evidence) checklist.Result {
	t.Helper()
	decoded, err := plain.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return list(t).Check(decoded, e)
}

func TestFilledAndWritten_passesHoweverItIsSaved(t *testing.T) {
	text := solved(t)
	curly := strings.NewReplacer(" -> ", " → ", "-312", "–312", "-554", "—554", "**", "", "\"", "”", " s", "\u00a0s").Replace(text)
	for name, saved := range map[string]string{
		"as it is": text, "CRLF": strings.ReplaceAll(text, "\n", "\r\n"), "BOM": "\xef\xbb\xbf" + text, "curly": curly,
		"UTF-16LE": wide(binary.LittleEndian, text), "UTF-16BE": wide(binary.BigEndian, text), "bullets": strings.ReplaceAll(text, "\n- ", "\n• "),
		"boxes ticked": strings.ReplaceAll(text, "\n- ", "\n- [x] "), "over the blank": strings.Replace(text, "released", "__released__", 1),
	} {
		r := checked(t, saved, evidence(runsDir))
		if r.Verdict != check.Pass {
			for _, i := range r.Items {
				if i.Verdict != check.Pass {
					t.Errorf("%s: %s: %s", name, i.ID, i.Reason)
				}
			}
		}
	}
}

func wide(order binary.AppendByteOrder, s string) string {
	out := order.AppendUint16(nil, 0xfeff)
	for _, u := range utf16.Encode([]rune(s)) {
		out = order.AppendUint16(out, u)
	}
	return string(out)
}

func TestCheck_namesWhatIsWrong(t *testing.T) {
	text := solved(t)
	r := checked(t, text, evidence(runsDir))
	graceful, killed := get(r, "B4").Value, get(r, "D4").Value
	run := get(r, "B2").Value
	for name, c := range map[string]struct {
		id, value, want string
		verdict         check.Verdict
	}{
		"numbers swapped":             {"B4", killed, "it is the value of D", check.Fail},
		"swapped the other way":       {"D4", graceful, "it is the value of B", check.Fail},
		"copied from the model":       {"D4", "17.4 s", "measured", check.Fail},
		"the model's largest":         {"D4", "23.80 s", "a figure of the model", check.Fail},
		"edited a little":             {"D5", "9.99 s", "measured", check.Fail},
		"no decimals":                 {"D4", "18 s", "no decimals", check.Fail},
		"words":                       {"C4", "about a second", "is not a number", check.Fail},
		"wrong class":                 {"C3", "expired", "was released", check.Fail},
		"transitions":                 {"D6", "7 → 9", "went from", check.Fail},
		"one transition":              {"D6", "7", "is not a number before and one after", check.Fail},
		"another mode's trial":        {"B2", strings.Replace(run, "trial 1", "trial 3", 1), "is of mode kill; asked for is graceful", check.Fail},
		"a trial that is not there":   {"B2", strings.Replace(run, "trial 1", "trial 9", 1), "has no trial 9", check.Fail},
		"a run that is not here":      {"B2", "20200101-000000-failover, trial 1", "is not on this machine", check.Unknown},
		"no run":                      {"B2", "the first one", "is not the name of a run", check.Fail},
		"duration":                    {"A1", "10 s", "was made with 15 s", check.Fail},
		"version":                     {"A4", "v0.30.0", "was built with client-go v0.37.2", check.Fail},
		"citation of the wrong place": {"E3", "leaderelection.go:450", "is in LeaderElector.tryAcquireOrRenew", check.Fail},
		"of the wrong version":        {"E3", "leaderelection.go:279 (v0.29.1)", "is cited of client-go v0.29.1", check.Fail},
		"no citation":                 {"E2", "somewhere in the source", "no file and line", check.Fail},
		"blank":                       {"F1", "______", "not filled in", check.Fail},
		"prediction":                  {"D1", "long", "is not a number", check.Fail},
	} {
		r := checked(t, put(text, c.id, c.value), evidence(runsDir))
		got := get(r, c.id)
		if got.Verdict != c.verdict || !strings.Contains(got.Reason, c.want) || got.Line == 0 || r.Verdict == check.Pass {
			t.Errorf("%s: got %s, line %d: %q; want %s, %q", name, got.Verdict, got.Line, got.Reason, c.verdict, c.want)
		}
	}
}

func TestCheck_namesAMissingLineAndADoubledOne(t *testing.T) {
	text := solved(t)
	gone := strings.Replace(text, "- **C4 ", "- **Lock ", 1)
	if got := get(checked(t, gone, evidence(runsDir)), "C4"); got.Verdict != check.Fail || got.Reason != "the field is not in the file" {
		t.Errorf("got %+v", got)
	}
	twice := text + "\nB4: 1.00 s\n"
	if got := get(checked(t, twice, evidence(runsDir)), "B4"); got.Verdict != check.Fail || !strings.Contains(got.Reason, "stands twice, in lines") {
		t.Errorf("got %+v", got)
	}
}

// TestCheck_namesAnEditedTimeline changes the events behind the back of what was computed from them.
func TestCheck_namesAnEditedTimeline(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(runsDir)); err != nil {
		t.Fatal(err)
	}
	run := runs(t, dir)[0]
	said, err := os.Create(filepath.Join(dir, run.Name, "trials.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(report.JSON(said, run.Failover), said.Close()); err != nil {
		t.Fatal(err)
	}
	if got := get(checked(t, solved(t), evidence(dir)), "D2"); got.Verdict != check.Pass {
		t.Errorf("unchanged: got %s: %s", got.Verdict, got.Reason)
	}
	file := filepath.Join(dir, run.Name, "timeline.jsonl")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.ReplaceAll(string(data), `"leaseTransitions":5`, `"leaseTransitions":7`)
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	got := get(checked(t, solved(t), evidence(dir)), "D2")
	if got.Verdict != check.Fail || !strings.Contains(got.Reason, "was changed after it was made") {
		t.Errorf("got %s: %s", got.Verdict, got.Reason)
	}
	if err := os.WriteFile(file, []byte("{\"t\":\n"+string(data)), 0o600); err != nil {
		t.Fatal(err)
	}
	got = get(checked(t, solved(t), evidence(dir)), "D2")
	if got.Verdict != check.Fail || !strings.Contains(got.Reason, "can't be read") {
		t.Errorf("got %s: %s", got.Verdict, got.Reason)
	}
}

func TestCheck_ofTheTemplateFailsEveryField(t *testing.T) {
	for _, i := range checked(t, list(t).Template, evidence(runsDir)).Items {
		if i.Verdict != check.Fail || i.Reason != "not filled in" || i.Line == 0 {
			t.Errorf("%s: got %s, %q", i.ID, i.Verdict, i.Reason)
		}
	}
}

func TestFill_leavesWhatIsWritten(t *testing.T) {
	text, err := plain.Decode([]byte(strings.ReplaceAll(put(list(t).Template, "B4", "9.99 s"), "\n", "\r\n")))
	if err != nil {
		t.Fatal(err)
	}
	filled := list(t).Fill(&text, checklist.Known{Runs: runs(t, runsDir), ClientGo: source.Version})
	for _, f := range filled {
		if f.ID == "B4" && (f.Left == "" || f.Value != "9.99 s") {
			t.Errorf("B4 was overwritten: %+v", f)
		}
		if strings.HasPrefix(f.ID, "E") && f.Left != "for you to write" {
			t.Errorf("judgement was filled in: %+v", f)
		}
	}
	out := string(text.Encode())
	if strings.Count(out, "\r\n") != strings.Count(out, "\n") {
		t.Error("the line ends were changed")
	}
	again, _ := plain.Decode([]byte(out))
	for _, f := range list(t).Fill(&again, checklist.Known{Runs: runs(t, runsDir), ClientGo: source.Version}) {
		if f.Left == "" {
			t.Errorf("written twice: %+v", f)
		}
	}
	if string(again.Encode()) != out {
		t.Error("filling again changed the file")
	}
}

func TestCheck_ofJunkDoesNotCrash(t *testing.T) {
	for _, junk := range []string{"x", "A1", "A1:", "B2: trial 99999999999", "A1 " + strings.Repeat(":", 5000), strings.Repeat("B4:\n", 2000), "E3: .go:999999999999999999"} {
		if r := checked(t, junk, evidence(runsDir)); r.Verdict == check.Pass {
			t.Errorf("%.20q passes", junk)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte(solved(f)))
	f.Add([]byte("\xff\xfeA\x001\x00"))
	l := list(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := plain.Decode(data)
		if err != nil {
			return
		}
		none := checklist.Evidence{Run: func(string) (recorded.Run, bool, error) { return recorded.Run{}, false, nil }}
		if l.Check(text, none).Verdict == check.Pass {
			t.Error("it passes without a run")
		}
		l.Fill(&text, checklist.Known{ClientGo: source.Version})
	})
}
