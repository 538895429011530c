package cmd

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestCIPage reads docs/ci.md: its workflow is YAML with the parts that GitHub asks for, and each labctl command in it exists.
func TestCIPage(t *testing.T) {
	data, err := os.ReadFile("../../../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```yaml\n(name: failover\n.*?)```").FindSubmatch(data)
	if found == nil {
		t.Fatal("there is no workflow")
	}
	var workflow struct {
		On   any `json:"on"`
		Jobs map[string]struct {
			RunsOn string `json:"runs-on"`
			Steps  []struct {
				Uses string `json:"uses"`
				Run  string `json:"run"`
			} `json:"steps"`
		} `json:"jobs"`
	}
	if err := yaml.Unmarshal(found[1], &workflow); err != nil {
		t.Fatal(err)
	}
	job, commands := workflow.Jobs["failover"], 0
	if job.RunsOn == "" || len(job.Steps) == 0 {
		t.Fatalf("the job is %+v", job)
	}
	for i, step := range job.Steps {
		if (step.Uses == "") == (step.Run == "") {
			t.Errorf("step %d neither runs nor uses something, or both", i+1)
		}
		for line := range strings.Lines(step.Run) {
			if command := strings.TrimSpace(line); strings.HasPrefix(command, "labctl ") {
				commands++
				command, _, _ = strings.Cut(command, " || ")
				if err := takes(strings.Fields(command)[1:]); err != nil {
					t.Errorf("%q: %v", command, err)
				}
			}
		}
	}
	if commands < 4 {
		t.Errorf("only %d commands were found in the workflow", commands)
	}
}
