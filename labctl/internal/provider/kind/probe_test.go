package kind

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/provider"
)

// operator is a provider whose operator's program is there.
func operator(t *testing.T) *Provider {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "academy-operator"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	return &Provider{BinDir: dir}
}

func TestAvailable_EveryTroubleWithDockerHasACommandToType(t *testing.T) {
	tests := map[string]struct{ script, says, hint string }{
		"no docker program": {"", "the program docker is not on PATH", "labctl up --provider embedded"},
		"daemon stopped": {`echo "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?" >&2; exit 1`,
			"the Docker daemon does not run", "sudo systemctl start docker"},
		"no permission": {`echo "permission denied while trying to connect to the Docker daemon socket" >&2; exit 1`,
			"this user may not use Docker", "sudo usermod -aG docker $USER && newgrp docker"},
		"something else": {`echo "first line" >&2; echo "it is a teapot" >&2; exit 1`, "it is a teapot", "docker info"},
		"half an answer": {`echo ""`, "nothing of the daemon", "docker info"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			fakeDocker(t, test.script)
			err := operator(t).Available(t.Context())
			var problem *provider.Problem
			if !errors.As(err, &problem) || !strings.Contains(err.Error(), test.says) || problem.Hint != test.hint {
				t.Errorf("got %v; want %q with the hint %q", err, test.says, test.hint)
			}
		})
	}
}

func TestDocker_ADaemonThatHangsIsGivenUp(t *testing.T) {
	fakeDocker(t, "exec sleep 60")
	begun := time.Now()
	_, err := docker(t.Context(), 200*time.Millisecond, "info")
	var problem *provider.Problem
	if !errors.As(explain(err), &problem) || problem.Hint != "sudo systemctl restart docker" || time.Since(begun) > 5*time.Second {
		t.Errorf("got %v after %s", err, time.Since(begun))
	}
}

const goodInfo = `case "$1" in
info) printf '27.0\t%s\tother-kernel\t8000000000\t/var/lib/docker\n' "${CGROUP:-2}" ;;
image) echo "Error response from daemon: No such image: kindest/node" >&2; exit 1 ;;
esac`

func TestExamine_TellsEachThingApart(t *testing.T) {
	fakeDocker(t, goodInfo)
	t.Setenv("CGROUP", "1")
	got := map[string]provider.Finding{}
	for _, f := range operator(t).Examine(t.Context(), "lab", "kindest/node:v9") {
		got[f.Name] = f
	}
	for _, name := range []string{"programs", "docker", "cgroup", "memory", "disk", "inotify"} {
		if f, found := got[name]; !found || f.Err != nil || f.Good == "" {
			t.Errorf("%s: got %+v", name, f)
		}
	}
	if !strings.Contains(got["cgroup"].Good, "v1") {
		t.Errorf("cgroup: %q", got["cgroup"].Good)
	}
	var problem *provider.Problem
	if f := got["image"]; !errors.As(f.Err, &problem) || problem.Hint != "docker pull kindest/node:v9" || !f.Making {
		t.Errorf("a node image that is not here: got %+v", f)
	}
}

func TestMemory_TooLittleIsAProblem(t *testing.T) {
	var problem *provider.Problem
	if f := memory(info{memory: 1 << 30}); !errors.As(f.Err, &problem) || !strings.Contains(f.Err.Error(), "1.0 GiB") {
		t.Errorf("got %+v", f)
	}
	if f := memory(info{}); f.Err != nil {
		t.Errorf("unknown: got %+v", f)
	}
}
