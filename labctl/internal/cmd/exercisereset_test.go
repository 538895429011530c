package cmd

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"academy.example/lab/labctl/internal/provider"
)

// busy is a provider whose lab is there and can't be used now.
type busy struct{ provider.Provider }

func (busy) Name() string { return "embedded" }

func (busy) Find(context.Context, string) (provider.Cluster, error) {
	return provider.Cluster{}, &provider.Problem{Err: errors.New("another labctl is measuring failovers of this lab"), Hint: "labctl watch"}
}

// What was answered is forgotten with the lab brought back, or not at all.
func TestReset_ForgetsNothingIfTheLabCantBeBroughtBack(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		a := &app{self: "labctl", name: "lab", streams: Streams{Out: &out, Err: &out, In: strings.NewReader("")}, providers: []provider.Provider{busy{}}}
		root := a.root()
		root.SetArgs(args)
		root.SetOut(&out)
		root.SetErr(&out)
		err := root.ExecuteContext(t.Context())
		return out.String(), err
	}
	if out, err := run("exercise", "answer", "03", "predict-gap=15"); err != nil {
		t.Fatal(out, err)
	}
	file, err := (&app{name: "lab"}).progressFile()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"exercise", "reset", "03"}, {"reset", "--all"}, {"reset"}} {
		if out, err := run(args...); err == nil || !strings.Contains(err.Error(), "another labctl") {
			t.Errorf("%v: got %v\n%s", args, err, out)
		}
		if kept, err := os.ReadFile(file); err != nil || !bytes.Contains(kept, []byte("predict-gap")) {
			t.Errorf("%v: the answers are gone: %v\n%s", args, err, kept)
		}
	}
}
