package cmd

import (
	"academy.example/lab/labctl/internal/sim"

	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	beOtherUser()
	sim.Child() // the simulator runs its program once more, which is this one here
	testscript.Main(m, map[string]func(){
		"labctl": func() { os.Exit(Main(os.Args, Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})) },
	})
}

// TestTranscripts plays testdata/*.txtar: what a person types and reads where no lab runs.
func TestTranscripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			run, err := filepath.Abs(fixture)
			if err != nil {
				return err
			}
			e.Setenv("FIXTURE", run)
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("XDG_STATE_HOME", e.WorkDir+"/state")
			e.Setenv("XDG_DATA_HOME", e.WorkDir+"/data")
			return nil
		},
	})
}
