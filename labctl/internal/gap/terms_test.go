package gap

import (
	"math"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// The terms of one candidate add up to its range and mean.
func TestExplain_AddsUp(t *testing.T) {
	for _, timing := range []api.Timing{api.Default(), api.Fast()} {
		for _, in := range []Input{{Timing: timing, Standbys: 1}, {Timing: timing, ReplacementStart: 1.3}} {
			for _, class := range []timeline.Class{timeline.Released, timeline.Expired} {
				var least, mean, most float64
				for _, term := range Explain(in, class) {
					least, mean, most = least+term.MinSeconds, mean+term.MeanSeconds, most+term.MaxSeconds
				}
				p := PredictClass(in, class)
				if in.Standbys == 0 && class == timeline.Released {
					p.MinSeconds = in.ReplacementStart // the range allows one that is quicker
				}
				if math.Abs(least-p.MinSeconds) > 1e-9 || math.Abs(most-p.MaxSeconds) > 1e-9 || math.Abs(mean-p.MeanSeconds) > 0.01 {
					t.Errorf("%s %s, %d standbys: the terms give %.3f / %.3f / %.3f, the prediction %.3f / %.3f / %.3f", timing, class, in.Standbys,
						least, mean, most, p.MinSeconds, p.MeanSeconds, p.MaxSeconds)
				}
			}
		}
	}
}

// With a known age the terms still add up.
func TestExplainAged_AddsUp(t *testing.T) {
	in := Input{Timing: api.Default(), Standbys: 1}
	for _, age := range []float64{0, 0.5, 2} {
		var least, mean, most float64
		for _, term := range ExplainAged(in, age) {
			least, mean, most = least+term.MinSeconds, mean+term.MeanSeconds, most+term.MaxSeconds
		}
		if p := PredictAged(in, age); math.Abs(least-p.MinSeconds) > 1e-9 || math.Abs(most-p.MaxSeconds) > 1e-9 || math.Abs(mean-p.MeanSeconds) > 0.6 {
			t.Errorf("age %g s: the terms give %.3f / %.3f / %.3f, the prediction %.3f / %.3f / %.3f", age, least, mean, most, p.MinSeconds, p.MeanSeconds, p.MaxSeconds)
		}
	}
}

// The cited lines are what they are said to be, where the module's source is at hand.
func TestTerms_SourcesAreTrue(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}} {{.Version}}", "k8s.io/client-go").Output()
	fields := strings.Fields(string(dir))
	if err != nil || len(fields) != 2 {
		t.Skip("the module's source is not at hand")
	}
	data, err := os.ReadFile(fields[0] + "/tools/leaderelection/leaderelection.go")
	if err != nil {
		t.Skip(err)
	}
	lines := strings.Split(string(data), "\n")
	pattern := regexp.MustCompile(`^client-go (\S+) tools/leaderelection/leaderelection\.go:(\d+) \(\w+\)$`)
	for source, part := range map[string]string{sourceAcquire: "wait.JitterUntilWithContext", sourceRenew: "wait.UntilWithContext",
		sourceIsValid: "observedRecord.LeaseDurationSeconds"} {
		m := pattern.FindStringSubmatch(source)
		if m == nil || m[1] != fields[1] {
			t.Errorf("%q is no citation of client-go %s", source, fields[1])
			continue
		}
		if n, _ := strconv.Atoi(m[2]); n < 1 || n > len(lines) || !strings.Contains(lines[n-1], part) {
			t.Errorf("%s: the line has no %q", source, part)
		}
	}
}
