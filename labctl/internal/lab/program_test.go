package lab

import (
	"testing"

	"academy.example/lab/labctl/internal/mutant"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/operator/api"
)

func TestProgram_NamesWhatRunsInTheOperatorsPlace(t *testing.T) {
	for name, c := range map[string]struct {
		state replica.State
		want  string
	}{
		"the lab's own":  {replica.State{Image: "own:1", Args: []string{"--election=plain"}}, ""},
		"a mutant":       {replica.State{Image: "own:1", Command: []string{"/home/x/bin/academy-mutants"}, Args: []string{"--election=plain", "--mutant=works-on"}}, "academy-mutants --mutant=works-on"},
		"another image":  {replica.State{Image: "my-operator:2"}, "my-operator:2"},
		"a fault alone":  {replica.State{Image: "own:1", Args: []string{"--mutant=works-on"}}, "academy-operator --mutant=works-on"},
		"one with words": {replica.State{Image: "own:1", Command: []string{"/bin/sh", "run.sh"}}, "sh run.sh"},
	} {
		l := &Lab{Cluster: provider.Cluster{OperatorImage: "own:1"}}
		if got := l.program(c.state); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	if got := (&Lab{}).program(replica.State{Image: api.DefaultImage}); got != "" {
		t.Errorf("the manifests' own image: got %q", got)
	}
}

func TestSubject_Runs(t *testing.T) {
	worksOn, _ := mutant.ByName(api.MutantWorksOn)
	noDeadline, _ := mutant.ByName("no-deadline")
	for want, s := range map[string]Subject{
		"academy-mutants --mutant=works-on":       {Mutant: worksOn, Program: "/bin/academy-mutants"},
		"academy-operator --guard-deadline=false": {Mutant: noDeadline},
		"my-operator:1": {Image: "my-operator:1"},
		"":              {},
	} {
		if got := s.runs(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
