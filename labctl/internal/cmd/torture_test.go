package cmd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestTorture kills labctl and the cluster's processes at random instants and looks for what is left. It takes about ten
// minutes, so it is done only when LAB_TORTURE is set; make torture does. LAB_TORTURE is the seed, a number above 0.
func TestTorture(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv("LAB_TORTURE"), 10, 64)
	if os.Getenv("LAB_TORTURE") == "" {
		t.Skip("make torture does it")
	}
	if err != nil {
		t.Fatalf("LAB_TORTURE is the seed: %v", err)
	}
	t.Run("labctl", func(t *testing.T) { tortureAll(t, seed, killsOfLabctl()) })
	t.Run("cluster", func(t *testing.T) { tortureAll(t, seed, killsOfCluster()) })
}

// torment is one kill: do is what is done with a lab that is up, or not if fresh.
type torment struct {
	name  string
	fresh bool
	do    func(*victim)
}

// killsOfLabctl are 100, evenly over what changes a lab.
func killsOfLabctl() []torment {
	modes := []string{"kill", "graceful", "crash", "freeze", "cut-blackhole", "api-down", "steal", "deny", "delete-lease", "rollout"}
	var all []torment
	for i := range 100 {
		switch i % 4 {
		case 0:
			all = append(all, torment{"up", true, func(v *victim) { v.killed(3*time.Second, "up") }})
		case 1:
			all = append(all, torment{"down", false, func(v *victim) { v.killed(1500*time.Millisecond, "down") }})
		case 2:
			all = append(all, torment{"scale", false, func(v *victim) { v.killed(2*time.Second, "scale", strconv.Itoa(1+i/4%4)) }})
		default:
			mode := modes[i/4%len(modes)]
			all = append(all, torment{"failover " + mode, false, func(v *victim) { v.killed(12*time.Second, "failover", "--mode", mode, "--timing", "fast") }})
		}
	}
	return all
}

// killsOfCluster are 20: the supervisor and each of its children in turn.
func killsOfCluster() []torment {
	var all []torment
	for i := range 20 {
		child := []string{"", "etcd", "apiserver", "controllers", "node"}[i%5]
		all = append(all, torment{"academy-cluster " + child, false, func(v *victim) { v.lost(child) }})
	}
	return all
}

// tortureAll does the kills, two labs side by side, and tells what it saw.
func tortureAll(t *testing.T, seed uint64, all []torment) {
	var mu sync.Mutex
	seen := map[string]int{}
	longest := map[string]time.Duration{}
	var workers sync.WaitGroup
	for worker := range 2 {
		w := newWorld(t)
		v := &victim{world: w, dice: rand.New(rand.NewPCG(seed, uint64(worker))), note: func(what string, took time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			seen[what]++
			longest[what] = max(longest[what], took)
		}}
		w.env = append(w.env, "TMPDIR="+v.tmp())
		if err := os.Mkdir(v.tmp(), 0o700); err != nil {
			t.Fatal(err)
		}
		workers.Go(func() {
			for i := worker; i < len(all); i += 2 {
				t.Run(fmt.Sprintf("%03d %s", i+1, all[i].name), func(t *testing.T) { v.t = t; v.suffer(all[i]) })
			}
			v.t = t
		})
	}
	workers.Wait()
	t.Logf("seed %d, %d kills", seed, len(all))
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%4d × %s, at most %.1f s", seen[what], what, longest[what].Seconds())
	}
}

// victim is a world whose lab is tortured.
type victim struct {
	*world
	dice *rand.Rand
	note func(what string, took time.Duration)
	port string
}

func (v *victim) tmp() string { return v.dir + "/tmp" }

// suffer does one kill, asks for the status, removes the lab and looks for what is left.
func (v *victim) suffer(one torment) {
	if !one.fresh {
		v.must("labctl", "up")
	}
	one.do(v)
	v.port = v.server()
	status := v.run(time.Minute, "labctl", "status")
	if status.code != ExitPass && (status.code != ExitCannotRun || !strings.Contains(status.err, "hint:")) {
		v.t.Errorf("status: exit code %d:\n%s%s", status.code, status.out, status.err)
	}
	v.note(fmt.Sprintf("status says %s", map[int]string{ExitPass: "how the lab is", ExitCannotRun: "that there is none, and a hint"}[status.code]), status.took)
	down := v.run(time.Minute, "labctl", "down")
	if down.code != ExitPass {
		v.t.Errorf("down: exit code %d:\n%s%s", down.code, down.out, down.err)
	}
	v.note("down", down.took)
	v.nothingLeft()
}

// killed starts labctl and kills it at a random instant within limit.
func (v *victim) killed(limit time.Duration, args ...string) {
	c := v.command(context.Background(), "labctl", args...)
	if err := c.Start(); err != nil {
		v.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { c.Wait(); close(ended) }()
	after := time.Duration(v.dice.Int64N(int64(limit)))
	select {
	case <-ended:
		v.note("labctl "+args[0]+" ended before it was killed", after)
	case <-time.After(after):
		c.Process.Kill()
		<-ended
		v.note("labctl "+args[0]+" killed", after)
	}
}

// lost kills a process of the cluster at a random instant, and sees that a failover works after what labctl advises.
func (v *victim) lost(child string) {
	<-time.After(time.Duration(v.dice.Int64N(int64(2 * time.Second))))
	record := v.record()
	pid := record.PID
	if child != "" {
		pid = record.Children[child].PID
	}
	begun := time.Now()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		v.t.Fatalf("kill %s: %v", child, err)
	}
	if child == "" {
		for len(v.processes()) > 0 {
			if time.Since(begun) > 10*time.Second {
				v.t.Fatalf("10 s after SIGKILL of academy-cluster these run: %v", v.processes())
			}
			<-time.After(20 * time.Millisecond)
		}
		v.note("academy-cluster killed: its processes ended", time.Since(begun))
	}
	up := v.run(2*time.Minute, "labctl", "up")
	if up.code != ExitPass {
		v.t.Fatalf("up after the death of %q: exit code %d:\n%s%s", child, up.code, up.out, up.err)
	}
	v.note("up after the death of academy-cluster "+child, up.took)
	failover := v.run(2*time.Minute, "labctl", "failover", "--timing", "fast")
	if failover.code != ExitPass {
		v.t.Errorf("failover after the death of %q: exit code %d:\n%s%s", child, failover.code, failover.out, failover.err)
	}
	v.note("failover after it", failover.took)
}

// clusterRecord is what tests read of cluster.json.
type clusterRecord struct {
	PID        int
	Server     string
	NodeSocket string
	Children   map[string]struct{ PID int }
}

// clusterIn reads the cluster.json of a lab's folder.
func clusterIn(t *testing.T, folder string) (r clusterRecord) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, "cluster.json"))
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (v *victim) record() clusterRecord { return clusterIn(v.t, v.dir+"/state/labctl/lab") }

// server returns the port of the API server; "" as long as nobody wrote it down.
func (v *victim) server() string {
	data, err := os.ReadFile(filepath.Join(v.dir, "state/labctl/lab/cluster.json"))
	var r clusterRecord
	if err != nil || json.Unmarshal(data, &r) != nil {
		return ""
	}
	server, err := url.Parse(r.Server)
	if err != nil {
		v.t.Fatal(err)
	}
	return server.Port()
}

// sockets is the folder of the lab's sockets, named after its state folder.
func (v *victim) sockets() string {
	sum := sha256.Sum256([]byte(v.dir + "/state/labctl/lab"))
	return fmt.Sprintf("/tmp/labctl-%d-%x", os.Getuid(), sum[:4])
}

// processes returns whatever runs with the world's folder in its command line or its environment: labctl, the cluster, pods, and
// what ends faults. A zombie has neither.
func (v *victim) processes() []string {
	var found []string
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		v.t.Fatal(err)
	}
	for _, name := range lines {
		line, _ := os.ReadFile(name)
		environment, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "environ"))
		if bytes.Contains(line, []byte(v.dir)) || bytes.Contains(environment, []byte(v.dir+"/")) || bytes.Contains(environment, []byte("HOME="+v.dir+"\x00")) {
			found = append(found, filepath.Base(filepath.Dir(name))+" "+string(bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
		}
	}
	return found
}

// nothingLeft looks for processes, folders, sockets and the API server's port. The last processes get ten seconds.
func (v *victim) nothingLeft() {
	begun := time.Now()
	for len(v.processes()) > 0 {
		if time.Since(begun) > 10*time.Second {
			v.t.Errorf("10 s after down these run: %v", v.processes())
			break
		}
		<-time.After(20 * time.Millisecond)
	}
	v.note("the last process ended after down", time.Since(begun))
	var left []string
	for _, pattern := range []string{v.dir + "/state/*", v.dir + "/.kube", v.dir + "/.cache", v.tmp() + "/*", v.sockets()} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			v.t.Fatal(err)
		}
		left = append(left, found...)
	}
	if len(left) > 0 {
		v.t.Errorf("these files are left after down: %v", left)
	}
	if data, err := os.ReadFile(v.dir + "/users-own"); err != nil || string(data) != "the user's own kubeconfig\n" {
		v.t.Errorf("the user's kubeconfig: %q, %v", data, err)
	}
	if v.port == "" {
		return
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", v.port))
	if err != nil {
		v.t.Errorf("the API server's port is not free: %v", err)
		return
	}
	l.Close()
}
