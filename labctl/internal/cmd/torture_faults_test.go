package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/timeline"
)

// killsOfEach is how often labctl is killed in each mode, and killedWithin how long what it did may stay then.
const (
	killsOfEach  = 3
	killedWithin = time.Minute
)

// TestTortureFaults kills labctl in the middle of each mode and waits, without typing anything, until nothing of the fault is
// left: no stopped process, no cut or late network, no API server that does not answer, no policy, no marked object. It takes
// about fifteen minutes, so it is done only when LAB_TORTURE is set; make torture does. LAB_TORTURE_MODES names the modes.
func TestTortureFaults(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv("LAB_TORTURE"), 10, 64)
	if os.Getenv("LAB_TORTURE") == "" {
		t.Skip("make torture does it")
	}
	if err != nil {
		t.Fatalf("LAB_TORTURE is the seed: %v", err)
	}
	modes := fault.Modes()
	if named := os.Getenv("LAB_TORTURE_MODES"); named != "" {
		modes = slices.DeleteFunc(modes, func(d fault.Description) bool { return !slices.Contains(strings.Split(named, ","), string(d.Mode)) })
	}
	var mu sync.Mutex
	longest := map[string]time.Duration{}
	var workers sync.WaitGroup
	for worker := range 2 {
		w := newWorld(t)
		v := &victim{world: w, dice: rand.New(rand.NewPCG(seed, uint64(worker)))}
		w.must("labctl", "up")
		workers.Go(func() {
			for i := worker; i < killsOfEach*len(modes); i += 2 {
				d := modes[i/killsOfEach]
				t.Run(fmt.Sprintf("%s %d", d.Mode, i%killsOfEach+1), func(t *testing.T) {
					v.t = t
					left := v.killedIn(d)
					mu.Lock()
					defer mu.Unlock()
					for what, took := range left {
						longest[string(d.Mode)+": "+what] = max(longest[string(d.Mode)+": "+what], took)
					}
				})
			}
			v.t = t
		})
	}
	workers.Wait()
	t.Logf("seed %d, %d kills", seed, killsOfEach*len(modes))
	for _, what := range slices.Sorted(maps.Keys(longest)) {
		t.Logf("%s, at most %.1f s after SIGKILL", what, longest[what].Seconds())
	}
}

// killedIn kills labctl up to three seconds after its fault was accepted, and returns how long after that each thing was still there.
func (v *victim) killedIn(d fault.Description) map[string]time.Duration {
	runs := filepath.Join(v.dir, "killed", fmt.Sprint(v.dice.Uint64()))
	c := v.command(context.Background(), "labctl", "failover", "--mode", string(d.Mode), "--timing", "fast", "--runs-dir", runs)
	var said bytes.Buffer
	c.Stderr = &said
	if err := c.Start(); err != nil {
		v.t.Fatal(err)
	}
	defer c.Process.Kill()
	v.await(3*time.Minute, "the fault was accepted", func() string {
		text, _ := os.ReadFile(filepath.Join(runs, "latest", "timeline.jsonl"))
		if bytes.Contains(text, []byte(`"kind":"`+string(timeline.FaultAccepted)+`"`)) {
			return ""
		}
		return "not yet: " + said.String()
	})
	<-time.After(time.Duration(v.dice.Int64N(int64(3 * time.Second))))
	c.Process.Kill()
	c.Wait()
	killed := time.Now()
	last := map[string]time.Duration{}
	v.await(killedWithin, "nothing is left", func() string {
		left := v.leftOfFault()
		for what := range left {
			last[what] = time.Since(killed)
		}
		return fmt.Sprint(left)
	})
	v.await(2*time.Minute, "two replicas are ready and one leads", func() string {
		return v.quiet("get", "deployment", "academy-operator", "-o", "jsonpath={.status.readyReplicas}", "2")
	})
	return last
}

// await looks until there is nothing to tell.
func (v *victim) await(limit time.Duration, what string, look func() string) {
	v.t.Helper()
	for begun := time.Now(); ; <-time.After(200 * time.Millisecond) {
		told := look()
		if told == "" || told == "map[]" {
			return
		}
		if time.Since(begun) > limit {
			v.t.Fatalf("%s does not hold after %s: %s", what, limit, told)
		}
	}
}

// leftOfFault is what is there of a fault: its kinds, each with what was seen.
func (v *victim) leftOfFault() map[string]string {
	left := map[string]string{}
	for _, p := range v.processes() {
		pid, _, _ := strings.Cut(p, " ")
		stat, _ := os.ReadFile("/proc/" + pid + "/stat")
		if _, after, ok := bytes.Cut(stat, []byte(") ")); ok && after[0] == 'T' {
			left["a stopped process"] = p
		}
	}
	for _, mode := range v.networks() {
		if mode != "open" {
			left["a network that is "+mode] = mode
		}
	}
	switch told := v.quiet("get", "--raw", "/readyz", "ok"); told {
	case "":
		for _, kind := range []string{"validatingadmissionpolicies", "validatingadmissionpolicybindings", "configmaps"} {
			if found := v.quiet("get", kind, "-A", "-l", "academy.example/fault", "-o", "name", ""); found != "" {
				left["marked "+kind] = found
			}
		}
	default:
		left["an API server that does not answer"] = told
	}
	return left
}

// quiet runs kubectl and returns what it says if that is not the last argument; a request takes two seconds at most.
func (v *victim) quiet(args ...string) string {
	args, want := args[:len(args)-1], args[len(args)-1]
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, filepath.Join(v.bin, "kubectl"), append([]string{"--request-timeout=2s", "--kubeconfig", v.dir + "/state/labctl/lab/kubeconfig", "-n", "academy-build"}, args...)...)
	c.Env = v.env
	out, _ := c.CombinedOutput()
	if told := strings.TrimSpace(string(out)); told != want {
		return "got " + strconv.Quote(told)
	}
	return ""
}

// networks asks the node how each pod's way to the API server is.
func (v *victim) networks() []string {
	client := http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", v.record().NodeSocket)
	}}}
	answer, err := client.Get("http://node/v1/pods")
	if err != nil {
		v.t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	var pods []struct{ Network string }
	if err == nil {
		err = json.Unmarshal(data, &pods)
	}
	if err != nil {
		v.t.Fatal(err)
	}
	var all []string
	for _, p := range pods {
		if p.Network != "" {
			all = append(all, p.Network)
		}
	}
	return all
}
