package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	coordination "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/operator/api"
)

func environment(name string) string {
	return map[string]string{api.EnvPodName: "pod-a", api.EnvPodNamespace: "n", api.EnvPodIP: "127.0.0.1"}[name]
}

// A mutant takes the operator's place, so it must take the arguments of its Deployment.
func TestParse_TakesTheArgumentsOfTheDeployment(t *testing.T) {
	manifest, err := os.ReadFile("../../manifests/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--" + api.FlagMutant + "=" + api.MutantWorksOn}
	for _, found := range regexp.MustCompile(`(?m)^ +- (--\S+)`).FindAllSubmatch(manifest, -1) {
		args = append(args, string(found[1]))
	}
	for _, f := range []string{api.FlagElection + "=guarded", api.FlagIdentity + "=pod", api.FlagOnLoss + "=exit", api.FlagReleaseOnCancel + "=true", api.FlagGuardFence + "=true"} {
		args = append(args, "--"+f)
	}
	o, err := parse(args, environment)
	if err != nil || len(args) < 10 {
		t.Fatalf("%d arguments: %v", len(args), err)
	}
	if o.lock.Timing != api.Default() || o.lock.Identity != "pod-a" || !o.lock.ReleaseOnCancel {
		t.Errorf("got %+v", o.lock)
	}
}

func TestParse_RefusesAFaultThatThereIsNot(t *testing.T) {
	for _, args := range [][]string{nil, {"--mutant=murder"}, {"--mutant=works-on", "--murder"}} {
		_, err := parse(args, environment)
		if problems := api.Problems(err); len(problems) == 0 || problems[0].Hint == "" {
			t.Errorf("%v: got %v, want an error with a hint", args, err)
		}
	}
}

func TestMisread(t *testing.T) {
	now := time.Now()
	record := func(holder string, age time.Duration) *coordination.Lease {
		renewed, seconds := metav1.NewMicroTime(now.Add(-age)), int32(15)
		return &coordination.Lease{Spec: coordination.LeaseSpec{HolderIdentity: &holder, RenewTime: &renewed, LeaseDurationSeconds: &seconds}}
	}
	for name, c := range map[string]struct {
		mutant, holder string
		wantHolder     string
		wantSeconds    int32
	}{
		"a clock ahead takes a fresh record for old":   {api.MutantWallClock, "b", "", 15},
		"its own it takes for what it is":              {api.MutantWallClock, "a", "a", 15},
		"a lock for life has no end":                   {api.MutantForLife, "b", "b", everlast},
		"others read what is there":                    {api.MutantWorksOn, "b", "b", 15},
		"and a lock for life that is free can be had ": {api.MutantForLife, "", "", 15},
	} {
		lease := record(c.holder, time.Second)
		misread(c.mutant, "a", lease, now)
		if got := holderOf(lease); got != c.wantHolder || *lease.Spec.LeaseDurationSeconds != c.wantSeconds {
			t.Errorf("%s: got holder %q, %d s", name, got, *lease.Spec.LeaseDurationSeconds)
		}
	}
}

// The shipped operator must know nothing of the faults.
func TestTheOperatorHasNoFault(t *testing.T) {
	for _, dir := range []string{"..", "../lease/election", "../internal/work", "../internal/serve"} {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if f.IsDir() || !strings.HasSuffix(f.Name(), ".go") {
				continue
			}
			text, err := os.ReadFile(dir + "/" + f.Name())
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "Mutant") {
				t.Errorf("%s/%s knows of mutants", dir, f.Name())
			}
		}
	}
}
