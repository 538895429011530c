package fault

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// recorder is a Target that notes what was done.
type recorder struct {
	done []string
	err  error
}

func (r *recorder) Delete(_ context.Context, pod Pod, force bool) error {
	what := "delete "
	if force {
		what = "force-delete "
	}
	r.done = append(r.done, what+pod.UID)
	return r.err
}

func (r *recorder) Kill(_ context.Context, pod Pod) error {
	r.done = append(r.done, "kill "+pod.UID)
	return r.err
}

func (r *recorder) Evict(_ context.Context, pod Pod) error {
	r.done = append(r.done, "evict "+pod.UID)
	return r.err
}

func (r *recorder) Roll(context.Context) error {
	r.done = append(r.done, "roll")
	return r.err
}

func (r *recorder) Upgrade(_ context.Context, pod Pod) error {
	r.done = append(r.done, "upgrade "+pod.UID)
	return r.err
}

func (r *recorder) Steal(_ context.Context, pod Pod, thief string) error {
	r.done = append(r.done, thief+" robs "+pod.UID)
	return r.err
}

func (r *recorder) DeleteLease(_ context.Context, pod Pod) error {
	r.done = append(r.done, "delete the Lease of "+pod.UID)
	return r.err
}

func (r *recorder) Silence(_ context.Context, m Mode, pod Pod, lasts time.Duration) error {
	r.done = append(r.done, string(m)+" "+pod.UID+" "+lasts.String())
	return r.err
}

func (r *recorder) Restore(_ context.Context, m Mode, pod Pod) error {
	r.done = append(r.done, "restore "+string(m)+" "+pod.UID)
	return r.err
}

func TestInject_DoesWhatTheModeSays(t *testing.T) {
	for mode, want := range map[Mode][]string{
		Graceful:     {"delete u"},
		ForceDelete:  {"force-delete u"},
		Kill:         {"kill u", "force-delete u"},
		Crash:        {"kill u"},
		Freeze:       {"freeze u 1s"},
		CutRefuse:    {"cut-refuse u 1s"},
		CutBlackHole: {"cut-blackhole u 1s"},
		Slow:         {"slow u 1s"},
		Deny:         {"deny u 1s"},
		APIDown:      {"api-down u 1s"},
		Rollout:      {"roll"},
		Upgrade:      {"upgrade u"},
		Evict:        {"evict u"},
		Steal:        {"thief robs u"},
		DeleteLease:  {"delete the Lease of u"},
	} {
		r := &recorder{}
		if err := Inject(t.Context(), mode, r, Pod{Name: "p", UID: "u"}, time.Second); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
		if !slices.Equal(r.done, want) {
			t.Errorf("%s: did %v, want %v", mode, r.done, want)
		}
	}
}

func TestInject_AKillThatFailedDeletesNothing(t *testing.T) {
	r := &recorder{err: errors.New("no such process")}
	if err := Inject(t.Context(), Kill, r, Pod{UID: "u"}, time.Second); err == nil {
		t.Error("got no error")
	}
	if !slices.Equal(r.done, []string{"kill u"}) {
		t.Errorf("did %v, want the kill alone", r.done)
	}
}

func TestInject_APodThatIsGoneIsNoFaultButAfterAKill(t *testing.T) {
	for mode, want := range map[Mode]bool{Graceful: true, ForceDelete: true, Crash: true} {
		err := Inject(t.Context(), mode, &recorder{err: ErrGone}, Pod{UID: "u"}, time.Second)
		if errors.Is(err, ErrGone) != want {
			t.Errorf("%s of a pod that is gone: got %v", mode, err)
		}
	}
	if err := Inject(t.Context(), Kill, &goneAfterKill{}, Pod{UID: "u"}, time.Second); err != nil {
		t.Errorf("a pod that goes with its killed process: got %v", err)
	}
}

// goneAfterKill is a target whose pod vanishes with its process.
type goneAfterKill struct{ recorder }

func (*goneAfterKill) Delete(context.Context, Pod, bool) error { return ErrGone }

func TestForceMeansKill(t *testing.T) {
	if Force != Kill {
		t.Errorf("--force is %s, want kill: nobody releases", Force)
	}
}

func TestParse(t *testing.T) {
	got, err := Parse("graceful, force-delete,kill")
	if err != nil || !slices.Equal(got, []Mode{Graceful, ForceDelete, Kill}) {
		t.Errorf("got %v, %v", got, err)
	}
	_, err = Parse("kill,murder,,x")
	if err == nil {
		t.Fatal("unknown modes: got no error")
	}
	for _, part := range []string{`"murder"`, `""`, `"x"`, "graceful, force-delete, kill, crash, rollout, upgrade, evict, freeze, cut-refuse, cut-blackhole, slow, deny, steal, delete-lease, api-down"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("got %q, want it to name %s", err, part)
		}
	}
}

func TestModes_EachIsExplained(t *testing.T) {
	for _, d := range Modes() {
		if d.Title == "" || d.Action == "" || d.Lesson == "" || d.Effect == "" || d.Undo == "" {
			t.Errorf("%s: title, action, lesson, effect or undo is missing", d.Mode)
		}
		if (d.Kubectl == "") == (d.NoKubectl == "") {
			t.Errorf("%s: exactly one of Kubectl and NoKubectl must be given", d.Mode)
		}
		if err := Inject(t.Context(), d.Mode, &recorder{}, Pod{}, time.Second); err != nil {
			t.Errorf("%s is described but can't be done: %v", d.Mode, err)
		}
	}
	if err := Inject(t.Context(), "murder", &recorder{}, Pod{}, time.Second); err == nil {
		t.Error("an unknown mode was done")
	}
}

func TestKubectlLine(t *testing.T) {
	d, _ := Describe(ForceDelete)
	if got, want := d.KubectlLine("academy-build", "pod-a"), "kubectl -n academy-build delete pod pod-a --grace-period=0 --force"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	d, _ = Describe(Kill)
	if got := d.KubectlLine("academy-build", "pod-a"); got != "" {
		t.Errorf("kill: got %q, want none: no kubectl line sends SIGKILL", got)
	}
}

func TestLine_NamesWhatItActsOn(t *testing.T) {
	for _, d := range Modes() {
		line := d.Line(Subject{Namespace: "n", Pod: "p", Deployment: "d", LeaseNamespace: "ln", Lease: "l"})
		for _, left := range []string{"NAMESPACE", "POD", "DEPLOYMENT", "LEASE"} {
			if strings.Contains(line, left) {
				t.Errorf("%s: %s is left in %q", d.Mode, left, line)
			}
		}
	}
	steal, _ := Describe(Steal)
	if got := steal.Line(Subject{LeaseNamespace: "ln", Lease: "l"}); !strings.HasPrefix(got, "kubectl -n ln patch lease l ") {
		t.Errorf("got %q", got)
	}
}

func TestModes_TheCommonOnesComeFirst(t *testing.T) {
	advanced := false
	for _, d := range Modes() {
		if advanced && !d.Advanced {
			t.Errorf("%s comes after an advanced mode", d.Mode)
		}
		advanced = advanced || d.Advanced
	}
	if got, want := CommonNames(), "graceful, force-delete, kill, crash"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
