package evidence

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/report"
)

// forced is the run of a forced failover that every made-up student has.
const forced = "20261130-093326-failover"

// manipulation is what somebody did to a student's archive, and what must be told of it.
type manipulation struct {
	name string
	// content changes the files, which are then hashed again; bytes changes what was packed. Either may be nil.
	content func(t *testing.T, b *Bundle)
	bytes   func(t *testing.T, packed []byte) []byte
	verdict check.Verdict
	what    What
	file    string // that is named; empty for the archive itself
}

func replace(t *testing.T, b *Bundle, file, old, new string) {
	t.Helper()
	found := regexp.MustCompile(old)
	if !found.Match(b.Files[file]) {
		t.Fatalf("%s has no %s", file, old)
	}
	done := false
	b.Files[file] = found.ReplaceAllFunc(b.Files[file], func(m []byte) []byte {
		if done {
			return m
		}
		done = true
		return found.ReplaceAll(m, []byte(new))
	})
}

// unhashed changes a file behind the manifest's back: it packs the archive again with the old manifest.
func unhashed(change func(t *testing.T, b *Bundle, order *[]string)) func(*testing.T, []byte) []byte {
	return func(t *testing.T, packed []byte) []byte {
		b, found := Open(bytes.NewReader(packed))
		if len(found) > 0 {
			t.Fatal(found)
		}
		manifest, order := encode(b.Manifest), []string{}
		for _, f := range b.Manifest.Files {
			order = append(order, f.Path)
		}
		change(t, &b, &order)
		raw, err := b.tar(order, manifest)
		if err != nil {
			t.Fatal(err)
		}
		return zipped(t, raw)
	}
}

func zipped(t testing.TB, raw []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(raw)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// later moves every time of a run's events after its first fault, by both clocks, and leaves what sources wrote.
func moved(seconds float64) func(*testing.T, *Bundle) {
	return func(t *testing.T, b *Bundle) {
		file := RunPath(forced, eventsFile)
		r := readRun(t, b, forced)
		var out bytes.Buffer
		after := false
		for _, e := range r.Events {
			if after {
				e.Seconds, e.Wall = e.Seconds+seconds, e.Wall.Add(time.Duration(seconds*float64(time.Second)))
			}
			after = after || e.Kind == "fault-issued"
			line, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			out.Write(append(line, '\n'))
		}
		b.Files[file] = out.Bytes()
		b.Files[RunPath(forced, trialsFile)] = retold(t, b, forced)
	}
}

func manipulations() []manipulation {
	return slices.Concat(behindTheManifest(), hashedAgain(), ofAnotherMake())
}

// inForced is the path of a file of the forced run.
func inForced(file string) string { return RunPath(forced, file) }

// behindTheManifest are changes of what is packed that leave the manifest as it was.
func behindTheManifest() []manipulation {
	return []manipulation{
		{name: "a figure of trials.json, not hashed again", bytes: unhashed(func(t *testing.T, b *Bundle, _ *[]string) {
			replace(t, b, inForced(trialsFile), `"lockGapSeconds": 1\d`, `"lockGapSeconds": 1`)
		}), verdict: check.Fail, what: Edited, file: inForced(trialsFile)},
		{name: "an event, not hashed again", bytes: unhashed(func(t *testing.T, b *Bundle, _ *[]string) {
			replace(t, b, inForced(eventsFile), `"leaseTransitions":`, `"leaseTransitions":1`)
		}), verdict: check.Fail, what: Edited, file: inForced(eventsFile)},
		{name: "an answer, not hashed again", bytes: unhashed(func(t *testing.T, b *Bundle, _ *[]string) {
			replace(t, b, progressFile, `why: b`, `why: a`)
		}), verdict: check.Fail, what: Edited, file: progressFile},
		{name: "the student's ID in the manifest", bytes: func(t *testing.T, packed []byte) []byte {
			b, _ := Open(bytes.NewReader(packed))
			b.Manifest.Student = "s99"
			raw, err := b.tar(sortedFiles(b), encode(b.Manifest))
			if err != nil {
				t.Fatal(err)
			}
			return zipped(t, raw)
		}, verdict: check.Fail, what: Edited, file: manifestFile},
		{name: "cut short", bytes: func(_ *testing.T, packed []byte) []byte { return packed[:len(packed)*2/3] }, verdict: check.Fail, what: Truncated},
		{name: "a flipped bit", bytes: func(_ *testing.T, packed []byte) []byte {
			packed[len(packed)/2] ^= 4
			return packed
		}, verdict: check.Fail, what: Damaged},
		{name: "a file is left out", bytes: unhashed(func(t *testing.T, b *Bundle, order *[]string) {
			*order = slices.DeleteFunc(*order, func(f string) bool { return f == inForced(eventsFile) })
		}), verdict: check.Fail, what: Missing, file: inForced(eventsFile)},
		{name: "a file too many", bytes: unhashed(func(t *testing.T, b *Bundle, order *[]string) {
			b.Files["runs/added/run.json"] = []byte("{}")
			*order = append(*order, "runs/added/run.json")
		}), verdict: check.Fail, what: Extra, file: "runs/added/run.json"},
	}
}

// hashedAgain are changes with which the manifest agrees.
func hashedAgain() []manipulation {
	return []manipulation{
		{name: "trials.json, hashed again", content: func(t *testing.T, b *Bundle) {
			replace(t, b, inForced(trialsFile), `"lockGapSeconds": 1(\d)`, `"lockGapSeconds": 2$1`)
		}, verdict: check.Fail, what: Contradiction, file: inForced(trialsFile)},
		{name: "one event's time and trials.json, hashed again", content: func(t *testing.T, b *Bundle) {
			at := takeover(t, b)
			replace(t, b, inForced(eventsFile), regexp.QuoteMeta(fmt.Sprintf(`"t":%v`, at)), fmt.Sprintf(`"t":%v`, at-2))
			b.Files[inForced(trialsFile)] = retold(t, b, forced)
		}, verdict: check.Fail, what: Contradiction, file: inForced(eventsFile)},
		{name: "all that follows the fault is earlier, hashed again", content: moved(-3), verdict: check.Fail, what: Contradiction, file: inForced(eventsFile)},
		{name: "the seed, hashed again", content: func(t *testing.T, b *Bundle) {
			replace(t, b, inForced(runFile), `"seed": \d+`, `"seed": 7`)
		}, verdict: check.Fail, what: Contradiction, file: inForced(eventsFile)},
		{name: "the mode, hashed again", content: func(t *testing.T, b *Bundle) {
			replace(t, b, inForced(runFile), `"kill"`, `"graceful"`)
		}, verdict: check.Fail, what: Contradiction, file: inForced(runFile)},
		{name: "two writes of the Lease change places, hashed again", content: func(t *testing.T, b *Bundle) {
			replace(t, b, inForced(eventsFile), `"resourceVersion":"(\d)`, `"resourceVersion":"9$1`)
			b.Files[inForced(trialsFile)] = retold(t, b, forced)
		}, verdict: check.Fail, what: Contradiction, file: inForced(eventsFile)},
		{name: "an exercise is marked as passed", content: func(t *testing.T, b *Bundle) {
			replace(t, b, progressFile, `lock-gap: "18`, `lock-gap: "28`)
		}, verdict: check.Fail, what: Contradiction, file: progressFile},
	}
}

// ofAnotherMake are archives that may be whole, or are none.
func ofAnotherMake() []manipulation {
	return []manipulation{
		{name: "another format", bytes: func(t *testing.T, packed []byte) []byte {
			b, _ := Open(bytes.NewReader(packed))
			b.Manifest.Format = 2
			raw, err := b.tar(sortedFiles(b), encode(b.Manifest))
			if err != nil {
				t.Fatal(err)
			}
			return zipped(t, raw)
		}, verdict: check.Unknown, what: Version, file: manifestFile},
		{name: "another schema of a run", content: func(t *testing.T, b *Bundle) {
			replace(t, b, inForced(runFile), `"schema": "lab/v1"`, `"schema": "lab/v9"`)
		}, verdict: check.Unknown, what: Version, file: inForced(runFile)},
		{name: "packed by another program", bytes: func(t *testing.T, packed []byte) []byte {
			in, err := gzip.NewReader(bytes.NewReader(packed))
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			w := gzip.NewWriter(&out)
			io.Copy(w, in)
			w.Close()
			return out.Bytes()
		}, verdict: check.Unknown, what: Repacked},
		{name: "bytes behind the end", bytes: func(_ *testing.T, packed []byte) []byte { return append(packed, "more"...) }, verdict: check.Unknown, what: Repacked},
		{name: "no archive", bytes: func(*testing.T, []byte) []byte { return []byte("my homework\n") }, verdict: check.Fail, what: Unreadable},
	}
}

// takeover is when the Lease was taken over in the forced run.
func takeover(t *testing.T, b *Bundle) float64 {
	t.Helper()
	fault := 0.0
	holder := ""
	for _, e := range readRun(t, b, forced).Events {
		switch {
		case e.Fault != nil:
			fault = e.Seconds
		case e.Lease != nil && fault > 0 && e.Lease.Holder != holder:
			return e.Seconds
		case e.Lease != nil:
			holder = e.Lease.Holder
		}
	}
	t.Fatal("nobody took over")
	return 0
}

func sortedFiles(b Bundle) []string {
	var order []string
	for _, f := range b.Manifest.Files {
		order = append(order, f.Path)
	}
	return order
}

// TestThirty summarises a class of thirty archives, of which twenty were changed in a way of their own, three are copies, one
// is of another class and one is handed in twice, and looks that each is told of, in its own words, and that nothing is told of the others.
func TestThirty(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute of processor time")
	}
	known, own := course(t), class(t)
	files, want := thirty(t, own)
	var results []Result
	var summary Summary
	took := took(func() {
		for i, data := range files {
			results = append(results, Verify(fmt.Sprintf("%02d.tar.gz", i), bytes.NewReader(data), known))
		}
		Compare(results, &own)
		summary = Summarize(results, &own, known)
	})
	t.Logf("thirty archives, %d KB: %s", len(bytes.Join(files, nil))>>10, took.Round(time.Millisecond))
	if took > 5*time.Second {
		t.Errorf("it took %s, want at most 5 s", took)
	}
	for i, w := range want {
		r := results[i]
		if r.Verdict != w.verdict {
			t.Errorf("%s (%s): verdict %s, want %s: %v", w.name, r.Archive, r.Verdict, w.verdict, r.Findings)
		}
		told := slices.ContainsFunc(r.Findings, func(f Finding) bool {
			return f.What == w.what && f.Verdict == w.verdict && (w.file == "" || f.File == w.file)
		})
		if w.what != "" && !told {
			t.Errorf("%s (%s): %v does not name %s of %q", w.name, r.Archive, r.Findings, w.what, w.file)
		}
	}
	var text, table, page bytes.Buffer
	if err := summary.Text(&text); err != nil {
		t.Fatal(err)
	}
	if err := summary.CSV(&table); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(table.String(), "\n"); lines != 31 {
		t.Errorf("the CSV has %d lines", lines)
	}
	if err := report.ClassHTML(&page, summary.Page()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(page.String(), "<svg class=\"picture\""); n == 0 {
		t.Error("the page has no picture")
	}
	if testing.Verbose() {
		t.Log("\n" + text.String())
	}
}

// thirty are the class's archives, and what is to be told of each.
func thirty(t *testing.T, own Class) (files [][]byte, want []manipulation) {
	t.Helper()
	add := func(m manipulation, b *Bundle) {
		if m.content != nil {
			m.content(t, b)
		}
		data := packedOf(t, b)
		if m.bytes != nil {
			data = m.bytes(t, data)
		}
		files, want = append(files, data), append(want, m)
	}
	for n := range 5 {
		add(manipulation{name: "as it was made", verdict: check.Pass}, student(t, n))
	}
	for i, m := range manipulations() {
		add(m, student(t, 5+i))
	}
	n := len(files)
	add(manipulation{name: "the runs of s00 under another ID", verdict: check.Fail, what: Copied}, copyOf(t, 0, n))
	add(manipulation{name: "one run of s01 among its own", verdict: check.Fail, what: Copied}, mixed(t, 1, n+1))
	add(manipulation{name: "the runs of s02 with other pods", verdict: check.Fail, what: Copied}, repodded(t, 2, n+2))
	other := student(t, n+3)
	other.Manifest.Class = &Class{Schema: own.Schema, Kind: own.Kind, Name: "spring", Nonce: "ANOTHERCLASSOFANOTHERYEAR2", IssuedAt: own.IssuedAt}
	add(manipulation{name: "of another class", verdict: check.Fail, what: ClassWrong, file: manifestFile}, other)
	add(manipulation{name: "handed in twice", verdict: check.Unknown, what: Twice}, student(t, 3))
	if len(files) != 30 {
		t.Fatalf("there are %d archives", len(files))
	}
	return files, want
}

// copyOf is the archive of one student under the ID of another.
func copyOf(t *testing.T, of, by int) *Bundle {
	b := student(t, of)
	b.Manifest.Student = fmt.Sprintf("s%02d", by)
	return b
}

// mixed is a student's archive with one run of another's in it.
func mixed(t *testing.T, of, by int) *Bundle {
	b, from := student(t, by), student(t, of)
	for _, file := range []string{runFile, eventsFile, trialsFile} {
		b.Files[RunPath(forced, file)] = from.Files[RunPath(forced, file)]
	}
	return b
}

// repodded is the archive of one student under the ID of another, with other pods and other days.
func repodded(t *testing.T, of, by int) *Bundle {
	b := copyOf(t, of, by)
	p := pretend{n: by, member: Membership{Student: b.Manifest.Student, Class: class(t)}}
	for name, data := range b.Files {
		data = uids.ReplaceAllFunc(data, func(found []byte) []byte { return p.named(found, 0) })
		b.Files[name] = times.ReplaceAllFunc(data, func(found []byte) []byte {
			at, _ := time.Parse(time.RFC3339Nano, string(found))
			return []byte(at.Add(24 * time.Hour).UTC().Format(time.RFC3339Nano))
		})
	}
	for name := range b.Files {
		if path.Base(name) == runFile {
			run := path.Base(path.Dir(name))
			b.Files[RunPath(run, trialsFile)] = retold(t, b, run)
		}
	}
	return b
}
