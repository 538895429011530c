package cmd

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// labFiles are where a world's lab keeps what is private.
type labFiles struct {
	state, sockets, runs, pki string
	server                    string // URL of the API server
}

func (w *world) files() labFiles {
	w.t.Helper()
	var record struct{ NodeSocket, Server string }
	state := filepath.Join(w.dir, "state/labctl/lab")
	data, err := os.ReadFile(filepath.Join(state, "cluster.json"))
	if err == nil {
		err = json.Unmarshal(data, &record)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return labFiles{state: state, sockets: filepath.Dir(record.NodeSocket), runs: filepath.Join(w.dir, "data/labctl/runs"), pki: filepath.Join(state, "pki"), server: record.Server}
}

// pidNumbers are the lab's processes.
func (w *world) pidNumbers() []int {
	w.t.Helper()
	var all []int
	for _, line := range w.pids() {
		pid, err := strconv.Atoi(strings.Fields(line)[0])
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, pid)
	}
	return all
}

// otherUser makes every attempt that another uid on this host has: files, sockets, processes, and each port.
func otherUser(t *testing.T, w *world) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	if len(w.runsRecorded()) == 0 {
		w.must("labctl", "failover", "--timing", "fast")
	}
	lab := w.files()
	// Nothing above the lab's own folders is to protect it: test folders are more private than a home is.
	for _, dir := range []string{"..", ".", "state", "state/labctl", "data", "data/labctl"} {
		if err := os.Chmod(filepath.Join(w.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	attempts := w.attemptsOnFiles(lab)
	for _, pid := range w.pidNumbers() {
		proc := fmt.Sprintf("/proc/%d/", pid)
		attempts = append(attempts, attempt{How: "signal", Target: strconv.Itoa(pid)}, attempt{How: "read", Target: proc + "environ"}, attempt{How: "list", Target: proc + "fd"})
	}
	admin, pod := filepath.Join(lab.pki, "admin"), w.holder()
	servers := []string{lab.server}
	for _, relay := range w.relays(lab) {
		servers = append(servers, "https://"+relay)
	}
	for _, server := range servers {
		for _, path := range []string{"/", "/version", "/livez", "/healthz", "/readyz?verbose", "/metrics", "/api", "/openid/v1/jwks", "/logs", "/apis/coordination.k8s.io/v1/leases",
			"/api/v1/secrets", "/api/v1/nodes/academy-node/proxy/pods", "/api/v1/namespaces/academy-build/pods/" + pod + "/exec?command=true&stdout=true"} {
			attempts = append(attempts, attempt{How: "ask", Target: server + path, Pair: admin})
		}
	}
	for _, path := range []string{"/healthz", "/containerLogs/academy-build/" + pod + "/operator", "/exec/academy-build/" + pod + "/operator?command=true&output=1",
		"/portForward/academy-build/" + pod, "/pods", "/metrics"} {
		attempts = append(attempts, attempt{How: "ask", Target: "https://" + w.nodePort() + path, Pair: filepath.Join(lab.pki, "kubelet-client")})
	}
	before := w.kubectl("get", "pods", "-o", "jsonpath={.items[*].status.containerStatuses[*].containerID}")
	onlyForOwner(t, attempts)
	if after := w.kubectl("get", "pods", "-o", "jsonpath={.items[*].status.containerStatuses[*].containerID}"); after != before {
		t.Errorf("a replica was ended: containers %s, then %s", before, after)
	}
	t.Logf("%d attempts of another user", len(attempts))
}

func (w *world) runsRecorded() []string {
	found, err := filepath.Glob(filepath.Join(w.dir, "data/labctl/runs/*/run.json"))
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// attemptsOnFiles are those on each file, folder and socket of the lab and its runs. Each of them is private by itself, too, but
// kubectl's cache of what the API server serves.
func (w *world) attemptsOnFiles(lab labFiles) []attempt {
	w.t.Helper()
	var attempts []attempt
	cache := filepath.Join(lab.state, "kubectl") + "/"
	for _, root := range []string{lab.state, lab.sockets, lab.runs} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err == nil && info.Mode().Perm()&0o077 != 0 && info.Mode()&fs.ModeSymlink == 0 && !strings.HasPrefix(path+"/", cache) {
				w.t.Errorf("%s has mode %v", path, info.Mode())
			}
			switch {
			case d.IsDir():
				attempts = append(attempts, attempt{How: "list", Target: path})
			case info.Mode().IsRegular():
				attempts = append(attempts, attempt{How: "read", Target: path}, attempt{How: "write", Target: path})
			case info.Mode()&fs.ModeSocket != 0:
				attempts = append(attempts, attempt{How: "dial", Target: path})
			}
			return err
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	for _, part := range []string{"pki/ca.key", "pki/sa.key", "pki/kubelet-client.key", "/serviceaccount/token", "lab/kubeconfig", "etcd/member/snap/db", "etcd.sock", "node.sock", "/academy-operator-", "trials.json"} {
		if !slices.ContainsFunc(attempts, func(a attempt) bool { return strings.Contains(a.Target, part) }) {
			w.t.Errorf("no attempt on %s: it is not where it was", part)
		}
	}
	return attempts
}

// relays are the addresses at which the pods reach the API server.
func (w *world) relays(lab labFiles) []string {
	w.t.Helper()
	configs, err := filepath.Glob(filepath.Join(lab.state, "pods/*/kubeconfig"))
	if err != nil || len(configs) < 2 {
		w.t.Fatalf("%d pods have a kubeconfig, %v; want 2", len(configs), err)
	}
	var found []string
	for _, file := range configs {
		data, err := os.ReadFile(file)
		if err != nil {
			w.t.Fatal(err)
		}
		found = append(found, string(regexp.MustCompile(`127\.0\.0\.1:\d+`).Find(data)))
	}
	return found
}

// nodePort is the address of the node agent's port.
func (w *world) nodePort() string {
	w.t.Helper()
	return "127.0.0.1:" + w.kubectl("get", "node", "academy-node", "-o", "jsonpath={.status.daemonEndpoints.kubeletEndpoint.Port}")
}

// openPorts finds each socket of the lab's processes: that there is no other one, none off loopback, none without a file.
func openPorts(t *testing.T, w *world) {
	lab := w.files()
	server, err := url.Parse(lab.server)
	if err != nil {
		t.Fatal(err)
	}
	want := append(w.relays(lab), server.Host, w.nodePort())
	var pods corev1.PodList
	if err := json.Unmarshal([]byte(w.kubectl("get", "pods", "-o", "json")), &pods); err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		want = append(want, pod.Status.PodIP+":8080")
	}
	inodes := socketInodes(t, w.pidNumbers())
	got := listeners(t, inodes)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the lab's processes listen on\n%v, want only the API server, its relays, the node agent's port and the pods'\n%v", got, want)
	}
	if unix := unixListeners(t, inodes); len(unix) != 4 || slices.ContainsFunc(unix, func(path string) bool { return !strings.HasPrefix(path, lab.sockets+"/") }) {
		t.Errorf("they listen on the unix sockets %v, want etcd's, the node's and two exit switches, all in %s", unix, lab.sockets)
	}
	for _, cert := range []string{"admin", "controllers", "node-client"} {
		if err := (attempt{How: "ask", Target: "https://" + w.nodePort() + "/healthz", Pair: filepath.Join(lab.pki, cert)}).try(); err == nil {
			t.Errorf("the node agent answers %s, want only the API server's own certificate", cert)
		}
	}
}

// socketInodes are the sockets that the processes have open.
func socketInodes(t *testing.T, pids []int) map[string]bool {
	t.Helper()
	inodes := map[string]bool{}
	for _, pid := range pids {
		links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range links {
			target, err := os.Readlink(link)
			if inode, found := strings.CutPrefix(target, "socket:["); err == nil && found {
				inodes[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	if len(inodes) < 8 {
		t.Fatalf("%d sockets found in %v", len(inodes), pids)
	}
	return inodes
}

// listeners are the addresses that those of the sockets listen on; one of UDP or IPv6 is told as the kernel writes it.
func listeners(t *testing.T, inodes map[string]bool) []string {
	t.Helper()
	const listening, unconnected = "0A", "07"
	var found []string
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		data, err := os.ReadFile("/proc/net/" + table)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			f := strings.Fields(line)
			if len(f) < 10 || !inodes[f[9]] || f[3] != listening && f[3] != unconnected {
				continue
			}
			var a, b, c, d byte
			var port int
			if n, _ := fmt.Sscanf(f[1], "%02X%02X%02X%02X:%04X", &d, &c, &b, &a, &port); n != 5 || table != "tcp" {
				found = append(found, table+" "+f[1])
				continue
			}
			found = append(found, fmt.Sprintf("%d.%d.%d.%d:%d", a, b, c, d, port))
		}
	}
	return found
}

// unixListeners are the paths that those of the sockets listen on; an abstract one begins with @.
func unixListeners(t *testing.T, inodes map[string]bool) []string {
	t.Helper()
	const accepts = "00010000"
	data, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 7 && inodes[f[6]] && f[3] == accepts {
			found = append(found, f[7])
		}
	}
	return found
}
