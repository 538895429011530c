package cmd

import (
	"os/exec"
	"testing"

	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

func TestEachValueOfASettingHasAMeaning(t *testing.T) {
	for name, values := range map[string][]string{
		replica.SettingTiming: {"15/10/2"}, replica.SettingElection: api.Elections(), replica.SettingIdentity: api.Identities(), replica.SettingReleaseOnCancel: {"true", "false"},
		replica.SettingOnLoss: api.Losses(), api.FlagGuardClient: {"true", "false"}, api.FlagGuardFence: {"true", "false"},
	} {
		for _, v := range values {
			if meaning(replica.Difference{Name: name, New: v}) == "" {
				t.Errorf("%s %s has no sentence in meanings", name, v)
			}
		}
	}
}

func TestNextAfter(t *testing.T) {
	identity, timing := replica.Difference{Name: replica.SettingIdentity}, replica.Difference{Name: replica.SettingTiming}
	release := replica.Difference{Name: replica.SettingReleaseOnCancel}
	led := lab.Status{Replicas: 2, Ready: 2, Settled: true, Lease: &timeline.Lease{Holder: "a"}}
	for _, c := range []struct {
		status      lab.Status
		differences []replica.Difference
		want        string
	}{
		{led, []replica.Difference{timing}, "labctl failover --force"},
		{led, []replica.Difference{timing, identity}, "labctl failover --mode crash"},
		{led, []replica.Difference{release}, "labctl failover --mode graceful"},
		{lab.Status{}, []replica.Difference{identity}, "labctl scale 2"},
	} {
		if got := nextAfter(replica.Changed{Differences: c.differences}, c.status); got != c.want {
			t.Errorf("%v: got %s, want %s", c.differences, got, c.want)
		}
	}
}

// A shell must give kubectl the patch as it was, whatever the arguments hold.
func TestKubectlPatch_IsOneWordForAShell(t *testing.T) {
	const patch = `{"args":["--a=$(POD_IP)","it's","\\ \"x\" ` + "`id`" + ` ; && *"]}`
	out, err := exec.Command("sh", "-c", "printf %s "+quote(patch)).Output()
	if err != nil || string(out) != patch {
		t.Errorf("got %s, %v; want %s", out, err, patch)
	}
}

func TestKeeps_OnlyOfTheLabsOwnOperator(t *testing.T) {
	d := replica.Default()
	header := report.Header{Timing: api.Fast(), Election: report.Setting(d.Election), Identity: report.Setting(d.Identity), ReleaseOnCancel: &d.ReleaseOnCancel}
	for _, c := range []struct {
		name    string
		header  report.Header
		options lab.Options
		want    string
	}{
		{"the operator", header, lab.Options{Lanes: 1}, "timing 5/3/1"},
		{"the operator as it is by default", report.Header{Timing: api.Default(), Election: report.Setting(d.Election), Identity: report.Setting(d.Identity), ReleaseOnCancel: new(true)}, lab.Options{}, ""},
		{"lanes, which are gone", header, lab.Options{Lanes: 2}, ""},
		{"an operator that is not the lab's", report.Header{Timing: api.Fast(), Foreign: true}, lab.Options{Foreign: &lab.Foreign{}}, ""},
	} {
		if got := replica.Values(keeps(c.header, c.options)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
