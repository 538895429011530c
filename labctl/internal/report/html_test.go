package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/timeline"
)

// recorded is a real run: two lanes, kill and graceful twice each.
const recorded = "../cmd/testdata/run"

func readRun(t testing.TB, path string) (f Failover, about About, events []timeline.Event) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	var info struct {
		Header
		Modes     []string
		Trials    int `json:"trialsPerMode"`
		Lanes     int
		Seed      uint64
		StartedAt time.Time
		Labctl    string
		Lab       string
	}
	if err := json.Unmarshal(data, &info); err != nil {
		t.Fatal(err)
	}
	lines, err := os.Open(filepath.Join(path, "timeline.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	if events, err = timeline.Read(lines); err != nil {
		t.Fatal(err)
	}
	about = About{Name: "run", Modes: info.Modes, TrialsEach: info.Trials, Lanes: info.Lanes, Seed: info.Seed, StartedAt: info.StartedAt, Labctl: info.Labctl, Lab: info.Lab}
	return NewFailover(info.Header, timeline.Trials(events), "/runs/run"), about, events
}

// several are trials of every class, enough of one for its spread, and void ones, together with the events of none.
func several() []timeline.Trial {
	trials := three()
	for i := range 9 {
		gap := 14.2 + 0.8*float64(i)
		trials = append(trials, timeline.Trial{Mode: "kill", Class: timeline.Expired, Winner: timeline.Standby, GapSeconds: ptr(gap + 0.05), LockGapSeconds: ptr(gap), OverlapSeconds: ptr(0.0),
			UncertaintySeconds: ptr(0.01), Standbys: 1, HolderBefore: "pod-b", HolderAfter: ptr("pod-d"), TransitionsBefore: i, TransitionsAfter: ptr(i + 1), LeaseDurationSeconds: 15,
			InstantsSeconds: map[string]float64{"T1": 0.02, "T3": 0.01, "T5": gap + 0.01, "T7": gap + 0.05}})
	}
	return append(trials,
		timeline.Trial{Mode: "freeze", Class: timeline.Expired, Winner: timeline.Standby, GapSeconds: ptr(16.1), LockGapSeconds: ptr(16.0), OverlapSeconds: ptr(4.2), OverlapUncertaintySeconds: ptr(0.2),
			Standbys: 1, HolderBefore: "pod-b", HolderAfter: ptr("pod-d"), TransitionsBefore: 1, TransitionsAfter: ptr(2), Errors: []string{"pod-b: write refused", "pod-b: write refused"},
			InstantsSeconds: map[string]float64{"T1": 0.02, "T3": 0.02, "T5": 16.02, "T7": 16.1}},
		timeline.Trial{Mode: "crash", Class: timeline.SameIdentity, Winner: timeline.Same, LockGapSeconds: ptr(1.03), Standbys: 1, HolderBefore: "pod-b", HolderAfter: ptr("pod-b"), TransitionsAfter: ptr(0),
			InstantsSeconds: map[string]float64{"T3": 0.01, "T5": 1.04}},
		timeline.Trial{Mode: "kill", Class: timeline.Deleted, Winner: timeline.Standby, Standbys: 1, HolderBefore: "pod-b", HolderAfter: ptr("pod-d"), TransitionsAfter: ptr(0), InstantsSeconds: map[string]float64{"T5": 2}},
		void("standby pod-b went away before the Lease had a new holder"), void("the command was not accepted"))
}

func write(t testing.TB, f Failover, about About, events []timeline.Event) string {
	t.Helper()
	var out bytes.Buffer
	if err := HTML(&out, f, about, events); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func aboutSeveral() About {
	return About{Name: "20261130-120000-failover", Modes: []string{"graceful", "force-delete", "kill"}, TrialsEach: 6, Lanes: 1, Seed: 7,
		StartedAt: time.Date(2026, 11, 30, 11, 59, 0, 0, time.UTC), Labctl: "v1.2.3", Lab: "lab",
		Simulated: []Simulated{{Mode: "kill", Class: timeline.Expired, Gaps: []float64{14.1, 15.2, 16.3, 17.4, 18.5, 19.6}, With: "requests of 5ms, seed 1"}}}
}

func TestHTML(t *testing.T) {
	f, about, events := readRun(t, recorded)
	golden(t, "run.html", []byte(write(t, f, about, events)))
	many := NewFailover(header(), several(), "/runs/x")
	many.Requested = 20
	many.CutShort("interrupted")
	golden(t, "many.html", []byte(write(t, many, aboutSeveral(), nil)))
	if first, second := write(t, f, about, events), write(t, f, about, events); first != second {
		t.Error("the same run gives two pages")
	}
}

// wellFormed reads a page as strict XML, which it is on purpose, and reports what it holds that it must not.
func wellFormed(page string) error {
	decoder := xml.NewDecoder(strings.NewReader(page))
	ids, named := map[string]bool{}, []string{}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch element.Name.Local {
		case "script", "link", "img", "iframe", "object", "image", "use", "foreignObject", "form", "base":
			return fmt.Errorf("the page has a %s", element.Name.Local)
		}
		for _, a := range element.Attr {
			name := a.Name.Local
			switch {
			case name == "src" || strings.HasPrefix(name, "on") || name == "style":
				return fmt.Errorf("%s has the attribute %s", element.Name.Local, name)
			case name == "href" && !strings.HasPrefix(a.Value, "#"):
				return fmt.Errorf("a link leads out of the page: %s", a.Value)
			case name == "id" && ids[a.Value]:
				return fmt.Errorf("the id %s is there twice", a.Value)
			case name == "id":
				ids[a.Value] = true
			case name == "href":
				named = append(named, a.Value[1:])
			case name == "aria-labelledby":
				named = append(named, strings.Fields(a.Value)...)
			case strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") || (name == "width" || name == "height") && strings.HasPrefix(a.Value, "-"):
				return fmt.Errorf("%s has %s=%q", element.Name.Local, name, a.Value)
			}
		}
	}
	for _, id := range named {
		if !ids[id] {
			return fmt.Errorf("nothing has the id %q", id)
		}
	}
	if i := strings.IndexFunc(page, func(r rune) bool { return r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 }); i >= 0 {
		return fmt.Errorf("a control character at %d: %q", i, page[i:i+1])
	}
	return nil
}

func TestHTML_IsWellFormedAndNeedsNothingElse(t *testing.T) {
	f, about, events := readRun(t, recorded)
	for name, page := range map[string]string{
		"a run":   write(t, f, about, events),
		"many":    write(t, NewFailover(header(), several(), ""), aboutSeveral(), nil),
		"nothing": write(t, NewFailover(Header{}, nil, ""), About{}, nil),
	} {
		if err := wellFormed(page); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if out := regexp.MustCompile(`https?://|@import|url\([^#]`).FindString(page); out != "" {
			t.Errorf("%s: the page leads out of itself: %s", name, out)
		}
	}
}

// Every picture has a title, a text and a table of the same figures.
func TestHTML_EveryPictureHasATextAndATable(t *testing.T) {
	f, about, events := readRun(t, recorded)
	page := newPage(f.visible(), about, events)
	figures := append([]*figure{page.Strip}, page.Spreads...)
	for _, trial := range page.Trials {
		if trial.Waterfall == nil || trial.Swimlane == nil {
			t.Fatalf("trial %d has no picture", trial.N)
		}
		figures = append(figures, trial.Waterfall, trial.Swimlane)
	}
	for _, fig := range figures {
		if fig.Title == "" || fig.Desc == "" || len(fig.Table.Rows) == 0 || len(fig.Shapes) == 0 || fig.Height == 0 {
			t.Errorf("%s: %+v", fig.ID, fig)
		}
		for _, row := range fig.Table.Rows {
			if len(row) != len(fig.Table.Head) {
				t.Errorf("%s: the row %q does not fit the head %q", fig.ID, row, fig.Table.Head)
			}
		}
	}
}

// What the cluster wrote is text, and never markup, style or a template's action.
func TestHTML_NothingOfTheClusterIsMarkup(t *testing.T) {
	const evil = "</title></style><script>alert(1)</script>\x1b[2J\u202e\u009b{{.}}\"'><!--"
	f, about, events := readRun(t, recorded)
	for i := range events {
		if events[i].Lease != nil {
			events[i].Lease.Holder += evil
		}
	}
	for i := range f.Trials {
		f.Trials[i].HolderBefore += evil
		f.Trials[i].HolderAfter = ptr(*f.Trials[i].HolderAfter + evil)
		f.Trials[i].Errors = []string{evil}
		f.Trials[i].Kubectl, f.Trials[i].Mode = evil, evil
		f.Trials[i].Sources["T5"] = evil
	}
	f.Trials[0].Void, f.Cut, f.Operator, f.Lease, f.Provider, f.Election, f.Identity, f.Foreign = evil, evil, evil, evil, evil, evil, evil, true
	f.Checks[0].Reason, f.Checks[0].Hint = evil, evil
	about.Name, about.Lab, about.Labctl, about.Modes = evil, evil, evil, []string{evil}
	page := write(t, f, about, events)
	if err := wellFormed(page); err != nil {
		t.Error(err)
	}
	if strings.Contains(page, "<script") || strings.Contains(page, "<!--") || strings.Contains(page, "\u202e") {
		t.Error("the page holds markup of the cluster")
	}
}

// The figures of a run that is shown must not be taken from events of another.
func TestHTML_EventsOfOtherTrialsAreNotDrawn(t *testing.T) {
	f, about, events := readRun(t, recorded)
	f.Trials = f.Trials[:3]
	for _, trial := range newPage(f.visible(), about, events).Trials {
		if trial.Swimlane != nil {
			t.Errorf("trial %d is drawn from the events of another", trial.N)
		}
	}
}

func TestHTML_SaysWhatIsVoidAndWhatWasNotDone(t *testing.T) {
	f := NewFailover(header(), several(), "")
	f.Requested = 20
	f.CutShort("interrupted")
	page := write(t, f, aboutSeveral(), nil)
	for _, want := range []string{"2 of 17 trials do not count", "the command was not accepted (1×)", "the run ended after 17 of 20 trials: interrupted", "This trial is void, and has no figures",
		"Nobody was heard to lead for", "pod-b: write refused (2×)", "4.20 s ± 0.20", "labctl failover --mode graceful,force-delete,kill --trials 6 --seed 7 --timing 15/10/2"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// A timing that no operator could have, as of a record that was written by hand, gives a page without a prediction.
func TestHTML_ATimingThatCantBeIsNotModelled(t *testing.T) {
	for _, timing := range []time.Duration{0, -1, 1, math.MaxInt64} {
		f := NewFailover(header(), several(), "")
		f.Timing.RetryPeriod = timing
		page := newPage(f.visible(), aboutSeveral(), nil)
		for _, fig := range page.Spreads {
			if strings.Contains(fig.Desc, "predicted up to it 1") {
				t.Errorf("RetryPeriod %s has a prediction: %s", timing, fig.Desc)
			}
		}
	}
}
