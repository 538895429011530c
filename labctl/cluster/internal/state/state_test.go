package state

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"academy.example/lab/labctl/cluster/internal/pki"
)

const version = "v1.37.2"

// folders returns a state folder that does not exist yet and a socket folder with a short path.
func folders(t *testing.T) (dir, sockets string) {
	t.Helper()
	sockets, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(sockets) })
	return filepath.Join(t.TempDir(), "state"), sockets
}

func open(t *testing.T) *Folder {
	t.Helper()
	dir, sockets := folders(t)
	f, err := Open(dir, sockets, version)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func wantProblem(t *testing.T, err error, words string) {
	t.Helper()
	var problem *Problem
	if !errors.As(err, &problem) || problem.Hint == "" || !strings.Contains(err.Error(), words) {
		t.Errorf("got %v, want a problem about %q with a hint", err, words)
	}
}

func TestOpenErrSecondOne(t *testing.T) {
	f := open(t)
	if err := f.WriteCluster(Cluster{Schema: Schema, Name: "mine", PID: 42}); err != nil {
		t.Fatal(err)
	}
	_, err := Open(f.dir, f.sockets, version)
	wantProblem(t, err, `cluster "mine" (pid 42) runs in `)
	f.Close()
	again, err := Open(f.dir, f.sockets, version)
	if err != nil {
		t.Fatalf("after Close: %v", err)
	}
	again.Close()
}

func TestOpenErrFolders(t *testing.T) {
	dir, sockets := folders(t)
	public := filepath.Join(t.TempDir(), "public")
	if err := os.Mkdir(public, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(public, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(sockets, link); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ dir, sockets, words string }{
		"relative state":   {"state", sockets, "not absolute"},
		"relative sockets": {dir, "s", "not absolute"},
		"long sockets":     {dir, "/" + strings.Repeat("x", 90), "bytes long"},
		"no sockets":       {dir, "/nowhere/s", "no such file"},
		"public state":     {public, sockets, "others may enter"},
		"public sockets":   {dir, public, "others may enter"},
		"linked state":     {link, sockets, "no folder"},
	} {
		t.Run(name, func(t *testing.T) {
			if len(tt.sockets)+socketRoom > maxSocketPath && name != "long sockets" {
				t.Skip("the folder for temporary files has a long path")
			}
			_, err := Open(tt.dir, tt.sockets, version)
			wantProblem(t, err, tt.words)
		})
	}
}

func TestOpenErrAnotherUsersFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder away")
	}
	dir, sockets := folders(t)
	for _, path := range []string{dir, sockets} {
		if err := errors.Join(os.MkdirAll(path, 0o700), os.Chown(path, 65534, 65534)); err != nil {
			t.Fatal(err)
		}
		_, err := Open(dir, sockets, version)
		wantProblem(t, err, "belongs to user 65534")
		if err := os.Chown(path, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpenErrOtherVersion(t *testing.T) {
	f := open(t)
	f.Close()
	if f, err := Open(f.dir, f.sockets, "v1.37.9"); err != nil {
		t.Errorf("another patch release: %v", err)
	} else {
		f.Close()
	}
	_, err := Open(f.dir, f.sockets, "v1.38.0")
	wantProblem(t, err, "this program writes")
}

func TestOpenErrDataWithoutFormat(t *testing.T) {
	dir, sockets := folders(t)
	if err := os.MkdirAll(filepath.Join(dir, "etcd"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Open(dir, sockets, version)
	wantProblem(t, err, "no format file")
}

func TestPortIsKeptWhileFree(t *testing.T) {
	f := open(t)
	first, err := f.Port(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := f.Port(t.Context()); err != nil || again != first {
		t.Errorf("got %d, %v, want %d again", again, err, first)
	}
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: first})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if other, err := f.Port(t.Context()); err != nil || other == first {
		t.Errorf("got %d, %v, want another port than the taken one", other, err)
	}
}

func TestClusterIsReadAsWritten(t *testing.T) {
	f := open(t)
	want := Cluster{
		Schema: Schema, Name: "lab", PID: 1, Server: "https://127.0.0.1:1", Kubeconfig: "/k", NodeSocket: "/n", PodStartLatencySeconds: 1.2,
		Kubernetes: version, StartedAt: time.Now().UTC().Round(0), Children: map[string]Child{"etcd": {PID: 2}},
	}
	if err := f.WriteCluster(want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadCluster(f.dir)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if info, err := os.Stat(f.Path("cluster.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v", info.Mode(), err)
	}
}

func TestLargeLogIsSetAside(t *testing.T) {
	f := open(t)
	path := f.Log("etcd")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, maxLog+1); err != nil {
		t.Fatal(err)
	}
	if again := f.Log("etcd"); again != path {
		t.Errorf("got %s, want %s", again, path)
	}
	if _, err := os.Stat(path + ".1"); err != nil {
		t.Error(err)
	}
}

func TestKubeconfigCanBeUsed(t *testing.T) {
	f := open(t)
	files, err := pki.Ensure(f.Path("pki"), pki.Config{NodeName: "n", ServiceIP: net.IPv4(10, 96, 0, 1), Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	path := f.Path("kubeconfig")
	if err := WriteKubeconfig(path, "academy-lab", "https://127.0.0.1:6443", files.CA.Cert, files.Admin); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://127.0.0.1:6443" || len(config.CAData) == 0 || len(config.CertData) == 0 || len(config.KeyData) == 0 {
		t.Errorf("got %+v", config)
	}
	raw, err := clientcmd.LoadFromFile(path)
	if err != nil || raw.CurrentContext != "academy-lab" {
		t.Errorf("got context %q, %v", raw.CurrentContext, err)
	}
}
