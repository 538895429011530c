package readmission_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"academy.example/lab/operator/lease/election/electiontest"
	"academy.example/lab/operator/lease/heartbeat"
	"academy.example/lab/operator/lease/readmission"
)

const queuePath, checkPath = "clusterqueues/dispatch", "admissionchecks/dispatch-admission"

// world is a cluster whose gate is open.
type world struct {
	t      *testing.T
	server *server
	client dynamic.Interface
	leases *electiontest.Store
	reader *electiontest.Client
	gate   readmission.Gate
}

func newWorld(t *testing.T) *world {
	s, client := newServer(t)
	w := &world{t: t, server: s, client: client, leases: new(electiontest.Store)}
	w.reader = w.leases.Client()
	s.put(queuePath, queue("other", "dispatch-admission"))
	s.put(checkPath, check("dispatch.example/admission"))
	w.renew(time.Second)
	w.gate = readmission.Gate{Kueue: client, Leases: w.reader, Queue: readmission.Queue, Check: readmission.Check, Controller: readmission.Controller,
		LeaseNamespace: readmission.LeaseNamespace, LeaseName: readmission.LeaseName}
	if err := w.controller("c").Activate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) controller(identity string) readmission.Answerer {
	return readmission.Answerer{Kueue: w.client, Namespace: readmission.LeaseNamespace, Check: readmission.Check, Controller: readmission.Controller, Identity: identity}
}

func queue(checks ...string) map[string]any {
	list := []any{}
	for _, name := range checks {
		list = append(list, map[string]any{"name": name})
	}
	return map[string]any{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": map[string]any{"name": "dispatch"},
		"spec": map[string]any{"admissionChecksStrategy": map[string]any{"admissionChecks": list}}}
}

func check(controller string) map[string]any {
	return map[string]any{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "AdmissionCheck", "metadata": map[string]any{"name": "dispatch-admission"},
		"spec": map[string]any{"controllerName": controller}}
}

// renew writes the controller's Lease as its leader did so long ago.
func (w *world) renew(ago time.Duration) {
	w.t.Helper()
	holder, seconds, at := "c", int32(15), metav1.NewMicroTime(time.Now().Add(-ago))
	w.leases.Remove(readmission.LeaseNamespace, readmission.LeaseName)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: readmission.LeaseNamespace, Name: readmission.LeaseName},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &at}}
	if _, err := w.leases.Client().Leases(readmission.LeaseNamespace).Create(w.t.Context(), lease, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// TestPreflight_InOrderTheLeaseLast: the first step that fails is told, and hides all after it.
func TestPreflight_InOrderTheLeaseLast(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}, readmission.LeaseName, errors.New("no RBAC"))
	stale := func(w *world) { w.renew(31 * time.Second) }
	for _, c := range []struct {
		what    string
		breaks  []func(w *world)
		verdict heartbeat.Verdict
		steps   int
		reason  string // a part
	}{
		{"all is well", nil, heartbeat.Yes, 4, ""},
		{"the queue lists another check, and the Lease is stale", []func(*world){stale, func(w *world) { w.server.put(queuePath, queue("other")) }},
			heartbeat.No, 1, "ClusterQueue dispatch does not list AdmissionCheck dispatch-admission"},
		{"there is no queue", []func(*world){func(w *world) { delete(w.server.objects, queuePath) }}, heartbeat.No, 1, "ClusterQueue dispatch does not exist"},
		{"the queue may not be read", []func(*world){func(w *world) { w.server.refuse["clusterqueues"] = 403 }}, heartbeat.Unknown, 1, "may not get ClusterQueue dispatch"},
		{"there is no check", []func(*world){func(w *world) { delete(w.server.objects, checkPath) }}, heartbeat.No, 2, "AdmissionCheck dispatch-admission does not exist"},
		{"the check is another controller's", []func(*world){stale, func(w *world) { w.server.put(checkPath, check("somebody.else/check")) }},
			heartbeat.No, 2, `AdmissionCheck dispatch-admission names controller "somebody.else/check", not dispatch.example/admission`},
		{"the check may not be read", []func(*world){func(w *world) { w.server.refuse["admissionchecks"] = 403 }}, heartbeat.Unknown, 2, "may not get AdmissionCheck"},
		{"the server fails", []func(*world){func(w *world) { w.server.refuse["admissionchecks"] = 500 }}, heartbeat.Unknown, 2, "could not be read"},
		{"the check was never Active", []func(*world){stale, func(w *world) { w.server.put(checkPath, check("dispatch.example/admission")) }},
			heartbeat.No, 3, "AdmissionCheck dispatch-admission is not Active"},
		{"Active, and nobody alive", []func(*world){stale}, heartbeat.No, 4, "the admission controller's Lease was last renewed 31"},
		{"no Lease", []func(*world){func(w *world) { w.leases.Remove(readmission.LeaseNamespace, readmission.LeaseName) }},
			heartbeat.No, 4, "Lease dispatch-system/dispatch-admission does not exist"},
		{"the Lease may not be read", []func(*world){func(w *world) { w.reader.Set(electiontest.Fault{Refuse: forbidden}) }}, heartbeat.Unknown, 4, "may not get Lease dispatch-system/dispatch-admission"},
	} {
		t.Run(c.what, func(t *testing.T) {
			w := newWorld(t)
			for _, b := range c.breaks {
				b(w)
			}
			a := readmission.Open(t.Context(), w.gate)
			p := a.Preflight()
			if p.Verdict != c.verdict || !strings.Contains(p.Reason, c.reason) || c.reason == "" && p.Reason != "" {
				t.Errorf("got %s %q, want %s %q", p.Verdict, p.Reason, c.verdict, c.reason)
			}
			if len(p.Steps) != c.steps {
				t.Errorf("got the steps %+v, want %d of them", p.Steps, c.steps)
			}
			if a.ObserveOnly() != (c.verdict != heartbeat.Yes) {
				t.Errorf("observe-only is %t for a gate that is %s", a.ObserveOnly(), p.Verdict)
			}
		})
	}
}

// TestAdapter_ObserveOnlyWritesNothing counts what reaches the server.
func TestAdapter_ObserveOnlyWritesNothing(t *testing.T) {
	w := newWorld(t)
	w.renew(time.Minute)
	a := readmission.Open(t.Context(), w.gate)
	before := w.server.writes
	err := a.Submit(t.Context(), readmission.LeaseNamespace, "job-1")
	if !errors.Is(err, readmission.ErrObserveOnly) || !strings.Contains(err.Error(), "last renewed 1m0") {
		t.Errorf("got %v, want ErrObserveOnly with the reason", err)
	}
	if w.server.writes != before {
		t.Errorf("%d writes were sent: %v", w.server.writes-before, w.server.paths())
	}
}

// TestAdapter_LooksOnceAndInspectShowsWhyJobsWait kills the controller after an adapter was opened: that one stays open, its
// jobs wait and say so, Active stays True, and a new adapter opens observe-only.
func TestAdapter_LooksOnceAndInspectShowsWhyJobsWait(t *testing.T) {
	w := newWorld(t)
	ctx, namespace := t.Context(), readmission.LeaseNamespace
	a := readmission.Open(ctx, w.gate)
	submit(t, a, "job-1")
	if n, err := w.controller("c").Answer(ctx); n != 1 || err != nil {
		t.Fatalf("answered %d, %v; want one", n, err)
	}

	w.renew(time.Minute) // the controller is gone for a minute
	submit(t, a, "job-2")
	if a.ObserveOnly() {
		t.Error("the open adapter noticed; it must look at its opening only")
	}
	jobs, err := a.Inspect(ctx, namespace)
	if err != nil || len(jobs) != 2 {
		t.Fatalf("got %+v, %v; want two jobs", jobs, err)
	}
	if j := jobs[0]; j.State != readmission.Ready || j.Message != "answered by c" || j.WaitingSeconds != nil {
		t.Errorf("got %+v, want job-1 answered", j)
	}
	if j := jobs[1]; j.State != readmission.Pending || j.Check != readmission.Check || j.Message != "no controller has answered yet" || j.WaitingSeconds == nil {
		t.Errorf("got %+v, want job-2 waiting at its check", j)
	}

	p := readmission.Open(ctx, w.gate).Preflight()
	if p.Verdict != heartbeat.No || len(p.Steps) != 4 || p.Steps[2].Verdict != heartbeat.Yes {
		t.Errorf("a new adapter: got %+v, want no by the Lease, with the check still Active", p)
	}
	w.renew(0)
	if n, err := w.controller("d").Answer(ctx); n != 1 || err != nil {
		t.Errorf("the controller that came back answered %d, %v; want the job that waited", n, err)
	}
}

func submit(t *testing.T, a *readmission.Adapter, name string) {
	t.Helper()
	if err := a.Submit(t.Context(), readmission.LeaseNamespace, name); err != nil {
		t.Fatal(err)
	}
}

// TestAnswerer_ActiveIsNeverCleared runs the controller to its end.
func TestAnswerer_ActiveIsNeverCleared(t *testing.T) {
	w := newWorld(t)
	a := readmission.Open(t.Context(), w.gate)
	submit(t, a, "job-1")
	w.server.put(checkPath, check("dispatch.example/admission"))  // as it was before any controller
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second) // which is never reached, unless no job can be answered
	defer stop()
	w.server.afterWrite = func(path string) {
		if strings.HasSuffix(path, "job-1") {
			stop()
		}
	}
	w.controller("c").Run(ctx, func(err error) { t.Error(err) })
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Error("no job was answered")
	}
	if p := w.gate.Preflight(t.Context()); len(p.Steps) != 4 || p.Steps[2].Verdict != heartbeat.Yes {
		t.Errorf("got %+v, want the check Active after its controller ended", p.Steps)
	}
	if err := (readmission.Answerer{Kueue: w.client, Check: readmission.Check, Controller: "somebody.else/check"}).Activate(t.Context()); err == nil {
		t.Error("a controller said Active of a check that names another one")
	}
}

// TestAnswerer_ThereTellsAbsentFromUnread: only the server's word that there is none ends a controller.
func TestAnswerer_ThereTellsAbsentFromUnread(t *testing.T) {
	s, client := newServer(t)
	a := readmission.Answerer{Kueue: client, Check: readmission.Check}
	if err := a.There(t.Context()); !errors.Is(err, readmission.ErrNotThere) {
		t.Errorf("without the check: got %v", err)
	}
	s.put(checkPath, check(readmission.Controller))
	if err := a.There(t.Context()); err != nil {
		t.Errorf("with the check: got %v", err)
	}
	s.refuse["admissionchecks"] = http.StatusForbidden
	if err := a.There(t.Context()); err == nil || errors.Is(err, readmission.ErrNotThere) {
		t.Errorf("forbidden: got %v, which must not say that it is absent", err)
	}
}

// TestAnswerer_TwoLeadersDoNoHarm has a second controller answer a job after the first has read it and before it writes: the
// late write is refused, which is no error, and the answer that was first stays. The Lease is no fence; the version is.
func TestAnswerer_TwoLeadersDoNoHarm(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	a := readmission.Open(ctx, w.gate)
	submit(t, a, "job-1")
	w.server.beforeWrite = func() {
		if n, err := w.controller("other").Answer(ctx); n != 1 || err != nil {
			t.Errorf("the other one answered %d, %v; want one", n, err)
		}
	}
	if n, err := w.controller("late").Answer(ctx); n != 0 || err != nil {
		t.Errorf("the late one answered %d, %v; want none, and no error", n, err)
	}
	left, err := a.Inspect(ctx, readmission.LeaseNamespace)
	if err != nil || len(left) != 1 || left[0].Message != "answered by other" {
		t.Errorf("got %+v, %v; want the first answer", left, err)
	}
}
