package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"academy.example/lab/operator/lease/heartbeat"
	"academy.example/lab/operator/lease/readmission"
)

// readings are one of each kind, as the package heartbeat gives them.
func readings() map[string]heartbeat.Reading {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	record := func(holder string, ago time.Duration, duration int32) heartbeat.Reading {
		return heartbeat.Judge(heartbeat.Record{Holder: holder, RenewTime: now.Add(-ago), LeaseDurationSeconds: &duration}, now)
	}
	return map[string]heartbeat.Reading{
		"1-yes":            record("pod-a", 1300*time.Millisecond, 15),
		"2-future":         record("pod-a", -4*time.Second, 15),
		"3-released":       record("", 2*time.Second, 1),
		"4-never":          heartbeat.Judge(heartbeat.Record{Holder: "pod-a"}, now),
		"5-stale":          record("pod-a", 31200*time.Millisecond, 15),
		"9-year-1":         heartbeat.Judge(heartbeat.Record{Holder: "pod-a", RenewTime: time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC), LeaseDurationSeconds: longestDuration()}, now),
		"9-year-9999":      heartbeat.Judge(heartbeat.Record{Holder: "pod-a", RenewTime: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), LeaseDurationSeconds: longestDuration()}, now),
		"6-missing":        {Verdict: heartbeat.No, Reason: "Lease academy-build/academy-operator does not exist"},
		"7-forbidden":      {Verdict: heartbeat.Unknown, Reason: "may not get Lease academy-build/academy-operator: no"},
		"8-could-not-read": {Verdict: heartbeat.Unknown, Reason: "Lease academy-build/academy-operator could not be read: no answer"},
	}
}

// longestDuration is the longest duration that a Lease can have.
func longestDuration() *int32 {
	seconds := int32(math.MaxInt32)
	return &seconds
}

// TestHeartbeat_Golden holds what each reading says, means and leads to, of the operator's own Lease and of another.
func TestHeartbeat_Golden(t *testing.T) {
	var out bytes.Buffer
	a := &app{streams: Streams{Out: &out}, self: "labctl", name: "lab"}
	t.Setenv("KUBECONFIG", "/labctl/lab/kubeconfig")
	all := readings()
	for _, name := range []string{"1-yes", "2-future", "3-released", "4-never", "5-stale", "6-missing", "7-forbidden", "8-could-not-read", "9-year-1", "9-year-9999"} {
		for _, own := range []bool{true, false} {
			fmt.Fprintf(&out, "# %s, own %t, exit code %d\n", name, own, exitCode(all[name].Verdict))
			if err := a.printHeartbeat("academy-build", "academy-operator", own, all[name]); err != nil {
				t.Fatal(err)
			}
		}
	}
	const file = "testdata/heartbeat.golden"
	if *update {
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), want) {
		t.Errorf("got\n%s\nwant\n%s", out.Bytes(), want)
	}
}

func exitCode(v heartbeat.Verdict) int {
	if verdict, ok := exitFor(verdictOf(v)).(verdictError); ok {
		return verdict.code
	}
	return ExitPass
}

func TestHeartbeat_ExitCodes(t *testing.T) {
	for verdict, want := range map[heartbeat.Verdict]int{heartbeat.Yes: 0, heartbeat.No: 1, heartbeat.Unknown: 2} {
		if got := exitCode(verdict); got != want {
			t.Errorf("%s: got exit code %d, want %d", verdict, got, want)
		}
	}
}

func TestHeartbeat_JSONFitsItsSchema(t *testing.T) {
	schema := compile(t, "heartbeat.schema.json")
	for name, r := range readings() {
		data, err := json.Marshal(heartbeatJSON("academy-build", "academy-operator", r))
		if err != nil {
			t.Fatal(err)
		}
		if err := valid(schema, data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReadmission_NextCommand holds what each outcome of the gate leads to.
func TestReadmission_NextCommand(t *testing.T) {
	t.Setenv("KUBECONFIG", "/labctl/lab/kubeconfig")
	for _, c := range []struct {
		step    string
		verdict heartbeat.Verdict
		reason  string
		next    string
	}{
		{readmission.StepLease, heartbeat.Yes, "", "labctl readmission adapter"},
		{readmission.StepListed, heartbeat.No, "ClusterQueue dispatch does not exist", "labctl readmission install"},
		{readmission.StepActive, heartbeat.No, "AdmissionCheck dispatch-admission is not Active", "labctl readmission controller"},
		{readmission.StepLease, heartbeat.No, "the admission controller's Lease has no holder", "labctl readmission controller"},
		{readmission.StepListed, heartbeat.Unknown, "may not get ClusterQueue dispatch: no", "kubectl auth can-i get clusterqueues.kueue.x-k8s.io"},
		{readmission.StepLease, heartbeat.Unknown, "may not get Lease a/b: no", "kubectl auth can-i get leases.coordination.k8s.io -n dispatch-system"},
		{readmission.StepLease, heartbeat.Unknown, "Lease a/b could not be read: no answer", "labctl doctor"},
	} {
		var out bytes.Buffer
		a := &app{streams: Streams{Out: &out}, self: "labctl", name: "lab"}
		p := readmission.Preflight{Verdict: c.verdict, Reason: c.reason, Steps: []readmission.Step{{Name: c.step, Verdict: c.verdict, Reason: c.reason}}}
		if err := a.printReadmission(p); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if !strings.HasSuffix(text, "\nnext: "+c.next+"\n") || !strings.HasPrefix(text, "ReadmissionGate: "+string(c.verdict)+"\n") || !strings.Contains(text, c.reason) {
			t.Errorf("%s %s: got\n%s\nwant next: %s", c.step, c.verdict, text, c.next)
		}
	}
}
