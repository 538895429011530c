package work

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	fakecore "k8s.io/client-go/kubernetes/typed/core/v1/fake"
	clienttesting "k8s.io/client-go/testing"

	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/election/electiontest"
)

const namespace, leaseName = api.DefaultNamespace, api.DefaultName

var hang = electiontest.Fault{Hang: true}

func key(name string) string { return namespace + "/" + name }

// configMaps is client-go's fake of the core API. It says for itself that it cannot stream a list.
type configMaps struct {
	*fakecore.FakeCoreV1
}

func (configMaps) IsWatchListSemanticsUnSupported() bool { return true }

// fixture is a Worker that watches, one work object "one", and a Lease of the given holder.
type fixture struct {
	worker  *Worker
	fake    *clienttesting.Fake
	tracker clienttesting.ObjectTracker
	leases  *electiontest.Client
	store   *electiontest.Store
	log     *electiontest.Lines

	mu      sync.Mutex
	version int
	updates int
}

func newFixture(t *testing.T, holder string, transitions int32) *fixture {
	t.Helper()
	f := &fixture{fake: &clienttesting.Fake{}, store: new(electiontest.Store), log: new(electiontest.Lines)}
	f.tracker = clienttesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder())
	f.fake.AddReactor("update", "configmaps", f.refuseStale)
	f.fake.AddReactor("*", "*", clienttesting.ObjectReaction(f.tracker))
	f.fake.AddWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		w, err := f.tracker.Watch(action.GetResource(), action.GetNamespace())
		return true, w, err
	})
	f.create(t, "one")
	f.leases = f.store.Client()
	f.setHolder(t, holder, transitions)

	client := configMaps{&fakecore.FakeCoreV1{Fake: f.fake}}
	f.worker = New(Config{
		Namespace: namespace, Identity: holder, LeaseNamespace: namespace, LeaseName: leaseName,
		ConfigMaps: client, Leases: f.leases, Log: slog.New(slog.NewJSONHandler(f.log, nil)),
	})
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go f.worker.Watch(ctx)
	synctest.Wait()
	return f
}

// refuseStale does what client-go's tracker does not: it refuses an update of another version than the stored one.
func (f *fixture) refuseStale(action clienttesting.Action) (bool, runtime.Object, error) {
	update := action.(clienttesting.UpdateAction)
	sent := update.GetObject().(*core.ConfigMap).DeepCopy()
	stored, err := f.tracker.Get(update.GetResource(), sent.Namespace, sent.Name)
	if err != nil {
		return true, nil, err
	}
	if sent.ResourceVersion != stored.(*core.ConfigMap).ResourceVersion {
		return true, nil, apierrors.NewConflict(update.GetResource().GroupResource(), sent.Name,
			fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
	}
	f.mu.Lock()
	f.updates++
	f.mu.Unlock()
	sent.ResourceVersion = f.nextVersion()
	return true, sent, f.tracker.Update(update.GetResource(), sent, sent.Namespace)
}

func (f *fixture) nextVersion() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version++
	return strconv.Itoa(f.version)
}

// writes returns how many updates were committed.
func (f *fixture) writes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.updates
}

// react puts a reaction in front of all others.
func (f *fixture) react(verb string, reaction clienttesting.ReactionFunc) {
	f.fake.PrependReactor(verb, "configmaps", reaction)
}

// lead makes the worker lead; the returned function tells it to stop and waits until it has.
func (f *fixture) lead(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		f.worker.Lead(ctx)
		close(done)
	}()
	return func() {
		cancel()
		<-done
	}
}

func (f *fixture) create(t *testing.T, name string) {
	t.Helper()
	err := f.tracker.Create(core.SchemeGroupVersion.WithResource("configmaps"), &core.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: f.nextVersion(), Labels: map[string]string{api.LabelWork: "true"}},
		Data:       map[string]string{"big": "data"},
	}, namespace)
	if err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) object(t *testing.T, name string) *core.ConfigMap {
	t.Helper()
	o, err := f.tracker.Get(core.SchemeGroupVersion.WithResource("configmaps"), namespace, name)
	if err != nil {
		t.Fatal(err)
	}
	return o.(*core.ConfigMap)
}

// stampBy writes a stamp as another leader would.
func (f *fixture) stampBy(t *testing.T, name, holder, transition string) {
	t.Helper()
	o := f.object(t, name).DeepCopy()
	o.ResourceVersion = f.nextVersion()
	o.Annotations = map[string]string{api.AnnotationHolder: holder, api.AnnotationTransition: transition}
	if err := f.tracker.Update(core.SchemeGroupVersion.WithResource("configmaps"), o, namespace); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) setHolder(t *testing.T, holder string, transitions int32) {
	t.Helper()
	f.store.Remove(namespace, leaseName)
	_, err := f.store.Client().Leases(namespace).Create(t.Context(), &coordination.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: leaseName},
		Spec:       coordination.LeaseSpec{HolderIdentity: &holder, LeaseTransitions: &transitions},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}
