package report

import (
	"bytes"
	"strings"
	"testing"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/operator/api"
)

func TestPools_PutTogetherWhatWasMadeAlike(t *testing.T) {
	a, b, c := NewFailover(header(), three(), "a"), NewFailover(header(), three(), "b"), NewFailover(header(), three(), "c")
	c.Timing = api.Fast()
	b.Trials[2].Void = "a hole"
	pools := Pools([]Failover{a, b, c})
	n := map[string]int{}
	for _, p := range pools {
		n[p.Mode+" "+p.Timing] += p.N
		if p.MinSeconds > p.MedianSeconds || p.MedianSeconds > p.MaxSeconds || p.PredictedMinSeconds >= p.PredictedMaxSeconds {
			t.Errorf("%+v", p)
		}
	}
	for key, want := range map[string]int{"graceful 15/10/2": 2, "kill 15/10/2": 1, "kill 5/3/1": 1} {
		if n[key] != want {
			t.Errorf("%s: %d gaps, want %d (of %v)", key, n[key], want, n)
		}
	}
}

func TestClassHTML_NothingOfAStudentIsMarkup(t *testing.T) {
	f := NewFailover(header(), several(), "a")
	evil := `<script>alert("x")</script>`
	quoted := `" onmouseover="alert(1)`
	f.Header.Election, f.Header.Identity = Setting(evil), Setting(evil)
	page := ClassPage{Class: evil, Columns: []ClassColumn{{quoted, quoted}}, Counted: evil, Pools: Pools([]Failover{f}),
		Rows:     []ClassRow{{Student: evil, Archive: evil, Verdict: check.Verdict(quoted), Marks: []check.Verdict{check.Pass}}},
		Findings: []ClassFinding{{evil, check.Verdict(quoted), evil, evil}}}
	var out bytes.Buffer
	if err := ClassHTML(&out, page); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "<script") || strings.Contains(out.String(), quoted) {
		t.Error("a student's text is markup")
	}
	if !strings.Contains(out.String(), `class="measured"`) || !strings.Contains(out.String(), `class="expected"`) {
		t.Error("no picture has the class's gaps over the model's")
	}
}
