package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
)

// What TestSoak demands of each process after the first soakWarm: memory that grows less than soakSlope, and as many descriptors
// and goroutines as at its beginning, but for soakMore.
const (
	soakWarm  = 20 * time.Minute
	soakSlope = 10.0 // MiB an hour
	soakMore  = 16
)

// TestSoak has one labctl do failovers in all modes for LAB_SOAK, with ten replicas and a view that watches, and looks at what the
// processes take. make soak does it.
func TestSoak(t *testing.T) {
	if os.Getenv("LAB_SOAK") == "" {
		t.Skip("make soak does it")
	}
	long, err := time.ParseDuration(os.Getenv("LAB_SOAK"))
	if err != nil || long <= 2*soakWarm {
		t.Fatalf("LAB_SOAK is how long it lasts, more than %s: %v", 2*soakWarm, err)
	}
	s := &soak{world: newWorld(t)}
	s.must("labctl", "up")
	s.must("labctl", "scale", "10")
	s.must("labctl", "operator", "set", "--timing", "fast")
	lived := s.start("watch", "--plain")
	var modes []string
	for _, d := range fault.Modes() {
		modes = append(modes, string(d.Mode))
	}
	runs := filepath.Join(s.dir, "soak")
	failovers := s.start("failover", "--mode", strings.Join(modes, ","), "--trials", "500", "--time-limit", long.String(), "--runs-dir", runs)
	s.sample(long, failovers, map[string]int{"labctl watch": lived.Process.Pid, "labctl failover": failovers.Process.Pid})
	s.judge()
	s.classified(filepath.Join(runs, "latest"))
	young := s.start("watch", "--plain")
	<-time.After(time.Minute)
	old, fresh := goroutines(t, lived), goroutines(t, young)
	t.Logf("figure: goroutines of labctl watch: %d after %s, %d after a minute", old, long, fresh)
	if old > fresh+soakMore {
		t.Errorf("labctl watch has %d goroutines after %s and %d after a minute", old, long, fresh)
	}
}

// soak is a world that is looked at for a long time.
type soak struct {
	*world
	samples map[string][]sample
}

// sample is what a process takes at a moment after the soak began; goroutines is 0 if it does not tell.
type sample struct {
	at                      time.Duration
	mib                     float64
	descriptors, goroutines int
}

// start starts labctl with its output in a file.
func (s *soak) start(args ...string) *exec.Cmd {
	s.t.Helper()
	c := s.command(context.Background(), "labctl", args...)
	out, err := os.CreateTemp(s.dir, args[0])
	if err != nil {
		s.t.Fatal(err)
	}
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Process.Kill(); c.Wait(); out.Close() })
	return c
}

// sample looks at the processes twice a minute until the failovers end.
func (s *soak) sample(long time.Duration, failovers *exec.Cmd, pids map[string]int) {
	cluster := clusterIn(s.t, s.dir+"/state/labctl/lab")
	pids["academy-cluster"] = cluster.PID
	for name, child := range cluster.Children {
		pids[name] = child.PID
	}
	s.samples = map[string][]sample{}
	ended := make(chan struct{})
	go func() { failovers.Wait(); close(ended) }()
	begun := time.Now()
	for {
		select {
		case <-ended:
			if early := long - time.Since(begun); early > time.Minute {
				s.t.Errorf("the failovers ended %s early with exit code %d", early.Round(time.Second), failovers.ProcessState.ExitCode())
			}
			return
		case <-time.After(30 * time.Second):
		}
		for name, pid := range pids {
			one := sample{at: time.Since(begun), mib: residentMiB(pid)}
			open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
			if err != nil || one.mib == 0 {
				continue // it has just ended, or a child was started again, which judge sees
			}
			one.descriptors = len(open)
			if name == "apiserver" {
				one.goroutines = s.ofServer()
			}
			s.samples[name] = append(s.samples[name], one)
		}
	}
}

// residentMiB is the memory a process holds, 0 if it is gone.
func residentMiB(pid int) float64 {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.Atoi(fields[1])
	return float64(pages*os.Getpagesize()) / (1 << 20)
}

// ofServer asks the API server for its goroutines; 0 while it is stopped.
func (s *soak) ofServer() int {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, _ := s.command(ctx, "kubectl", "--kubeconfig", s.dir+"/state/labctl/lab/kubeconfig", "get", "--raw", "/metrics").Output()
	for line := range strings.Lines(string(out)) {
		if value, ok := strings.CutPrefix(line, "go_goroutines "); ok {
			n, _ := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return int(n)
		}
	}
	return 0
}

// judge compares what each process took after it was warm.
func (s *soak) judge() {
	for _, name := range slices.Sorted(maps.Keys(s.samples)) {
		warm := s.samples[name]
		for len(warm) > 0 && warm[0].at < soakWarm {
			warm = warm[1:]
		}
		if len(warm) < 40 {
			s.t.Errorf("%s: %d samples after %s; did it end?", name, len(warm), soakWarm)
			continue
		}
		slope := perHour(warm, func(m sample) float64 { return m.mib })
		third := len(warm) / 3
		first, last := warm[:third], warm[len(warm)-third:]
		descriptors := func(m sample) int { return m.descriptors }
		goroutines := func(m sample) int { return m.goroutines }
		s.t.Logf("figure: %-15s %5.1f → %5.1f MiB, slope %+5.1f MiB/h; descriptors %d, then %d; goroutines %d, then %d (medians of the first and the last third of %d samples)", name, warm[0].mib, warm[len(warm)-1].mib, slope,
			middle(first, descriptors), middle(last, descriptors), middle(first, goroutines), middle(last, goroutines), len(warm))
		if slope >= soakSlope {
			s.t.Errorf("%s grows by %.1f MiB an hour", name, slope)
		}
		if middle(last, descriptors) > middle(first, descriptors)+soakMore || middle(last, goroutines) > middle(first, goroutines)+soakMore {
			s.t.Errorf("%s has more descriptors or goroutines at the end", name)
		}
	}
}

// perHour is the slope of the line of least squares.
func perHour(samples []sample, of func(sample) float64) float64 {
	var x, y, xx, xy float64
	for _, m := range samples {
		at := m.at.Hours()
		x, y, xx, xy = x+at, y+of(m), xx+at*at, xy+at*of(m)
	}
	n := float64(len(samples))
	return (n*xy - x*y) / (n*xx - x*x)
}

// middle is the median: while a Deployment is rolled out there are twice as many pods, so that the most says nothing.
func middle(samples []sample, of func(sample) int) int {
	var all []int
	for _, m := range samples {
		if n := of(m); n > 0 { // 0 is a process that does not tell
			all = append(all, n)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// classified demands that each trial of the run has a class, and tells how they went.
func (s *soak) classified(run string) {
	data, err := os.ReadFile(filepath.Join(run, "trials.json"))
	var f report.Failover
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	seen := map[string]int{}
	for i, one := range f.Trials {
		seen[one.Mode+" "+string(one.Class)]++
		switch {
		case one.Void != "":
			s.t.Logf("trial %d, %s, is void: %s", i+1, one.Mode, one.Void)
		case one.Class == timeline.Unknown:
			s.t.Errorf("trial %d, %s, has no class: %v", i+1, one.Mode, one.Errors)
		}
	}
	s.t.Logf("figure: %d trials, verdict %s", f.N, f.Verdict)
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		s.t.Logf("figure: %s %d", what, seen[what])
	}
	for _, c := range f.Checks {
		s.t.Logf("check %v", c)
	}
}

// goroutines ends a Go program with SIGQUIT and counts what it then tells.
func goroutines(t *testing.T, c *exec.Cmd) int {
	t.Helper()
	if err := c.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	c.Wait()
	data, err := os.ReadFile(c.Stderr.(*os.File).Name())
	if err != nil {
		t.Fatal(err)
	}
	n := bytes.Count(data, []byte("\ngoroutine "))
	if n == 0 {
		t.Errorf("%v told nothing of its goroutines", c.Args)
	}
	return n
}
