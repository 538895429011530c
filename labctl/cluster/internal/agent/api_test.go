package agent

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
)

// api is a stand-in for the API server that refuses what the real one refuses to an agent.
type api struct {
	*fake.Clientset
	t *testing.T

	watching chan struct{} // told of each watch of pods that has begun

	mu      sync.Mutex
	version int
	down    bool
	tokens  []time.Time   // when one was asked for
	life    time.Duration // of a token
	deletes []metav1.DeleteOptions
}

func podResource() schema.GroupVersionResource { return corev1.SchemeGroupVersion.WithResource("pods") }

func newAPI(t *testing.T, objects ...runtime.Object) *api {
	a := &api{Clientset: fake.NewClientset(objects...), t: t, life: time.Hour, watching: make(chan struct{}, 10)}
	// The stand-in keeps no history: what happens between a list and the watch after it would be lost.
	a.PrependWatchReactor("pods", func(action k8stesting.Action) (bool, watch.Interface, error) {
		w, err := a.Tracker().Watch(podResource(), action.GetNamespace())
		a.watching <- struct{}{}
		return true, w, err
	})
	a.PrependReactor("patch", "pods", a.checkPatch)
	a.PrependReactor("delete", "pods", a.deletePod)
	a.PrependReactor("update", "*", a.checkUpdate)
	a.PrependReactor("create", "serviceaccounts", a.createToken)
	a.PrependReactor("*", "*", a.answer)
	return a
}

// answer fails every request while the server is down.
func (a *api) answer(k8stesting.Action) (bool, runtime.Object, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.down {
		return true, nil, fmt.Errorf("connection refused")
	}
	return false, nil, nil
}

func (a *api) setDown(down bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.down = down
}

func (a *api) pod(namespace, name string) *corev1.Pod {
	object, err := a.Tracker().Get(podResource(), namespace, name)
	if err != nil {
		return nil
	}
	return object.(*corev1.Pod)
}

// checkPatch refuses a patch for another UID, one of anything but the status, and a second address of one family.
func (a *api) checkPatch(action k8stesting.Action) (bool, runtime.Object, error) {
	patch := action.(k8stesting.PatchAction)
	pod := a.pod(patch.GetNamespace(), patch.GetName())
	if pod == nil {
		return true, nil, apierrors.NewNotFound(podResource().GroupResource(), patch.GetName())
	}
	var wanted struct {
		Metadata struct{ UID types.UID }
		Spec     map[string]any
		Status   struct{ PodIPs []map[string]string }
	}
	if err := json.Unmarshal(patch.GetPatch(), &wanted); err != nil {
		return true, nil, apierrors.NewBadRequest(err.Error())
	}
	if patch.GetSubresource() != "status" || wanted.Spec != nil {
		return true, nil, apierrors.NewForbidden(podResource().GroupResource(), pod.Name, fmt.Errorf("only the status"))
	}
	if wanted.Metadata.UID != pod.UID {
		return true, nil, apierrors.NewConflict(podResource().GroupResource(), pod.Name, fmt.Errorf("precondition failed: UID"))
	}
	// podIPs merge by address, so an address that is replaced must be deleted in the same patch.
	ips := map[string]bool{}
	for _, ip := range pod.Status.PodIPs {
		ips[ip.IP] = true
	}
	for _, ip := range wanted.Status.PodIPs {
		if ip["$patch"] == "delete" {
			delete(ips, ip["ip"])
		} else {
			ips[ip["ip"]] = true
		}
	}
	if len(ips) > 1 {
		err := field.Invalid(field.NewPath("status", "podIPs"), ips, "may specify no more than one IP for each IP family")
		return true, nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), pod.Name, field.ErrorList{err})
	}
	return false, nil, nil
}

// deletePod deletes as the real server does: with grace it only marks, without it marks and removes.
func (a *api) deletePod(action k8stesting.Action) (bool, runtime.Object, error) {
	del := action.(k8stesting.DeleteActionImpl)
	pod := a.pod(del.GetNamespace(), del.GetName())
	if pod == nil {
		return true, nil, apierrors.NewNotFound(podResource().GroupResource(), del.GetName())
	}
	options := del.DeleteOptions
	if p := options.Preconditions; p != nil && p.UID != nil && *p.UID != pod.UID {
		return true, nil, apierrors.NewConflict(podResource().GroupResource(), pod.Name, fmt.Errorf("precondition failed: UID"))
	}
	a.mu.Lock()
	a.deletes = append(a.deletes, options)
	a.mu.Unlock()
	grace := int64(30)
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		grace = *pod.Spec.TerminationGracePeriodSeconds
	}
	if options.GracePeriodSeconds != nil {
		grace = *options.GracePeriodSeconds
	}
	if pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds <= grace && grace > 0 {
		return true, nil, nil // never longer than it was
	}
	marked := pod.DeepCopy()
	at := metav1.NewTime(time.Now().Add(time.Duration(grace) * time.Second))
	marked.DeletionTimestamp, marked.DeletionGracePeriodSeconds = &at, &grace
	if err := a.Tracker().Update(podResource(), marked, pod.Namespace); err != nil {
		return true, nil, err
	}
	if grace > 0 || len(pod.Finalizers) > 0 {
		return true, nil, nil
	}
	return true, nil, a.Tracker().Delete(podResource(), pod.Namespace, pod.Name)
}

// checkUpdate refuses an update of an old version, and counts versions.
func (a *api) checkUpdate(action k8stesting.Action) (bool, runtime.Object, error) {
	update := action.(k8stesting.UpdateAction)
	wanted, err := meta.Accessor(update.GetObject())
	if err != nil {
		return true, nil, err
	}
	have, err := a.Tracker().Get(update.GetResource(), update.GetNamespace(), wanted.GetName())
	if err != nil {
		return true, nil, err
	}
	old, err := meta.Accessor(have)
	if err != nil {
		return true, nil, err
	}
	if wanted.GetResourceVersion() != old.GetResourceVersion() || wanted.GetUID() != old.GetUID() {
		return true, nil, apierrors.NewConflict(update.GetResource().GroupResource(), wanted.GetName(), fmt.Errorf("the object has been modified"))
	}
	a.mu.Lock()
	a.version++
	wanted.SetResourceVersion(strconv.Itoa(a.version))
	a.mu.Unlock()
	return false, nil, nil
}

// createToken gives a token that is bound to a pod there is.
func (a *api) createToken(action k8stesting.Action) (bool, runtime.Object, error) {
	if action.GetSubresource() != "token" {
		return false, nil, nil
	}
	request := action.(k8stesting.CreateAction).GetObject().(*authenticationv1.TokenRequest).DeepCopy()
	bound := request.Spec.BoundObjectRef
	if pod := a.pod(action.GetNamespace(), bound.Name); bound.Kind != "Pod" || pod == nil || pod.UID != bound.UID {
		return true, nil, apierrors.NewConflict(podResource().GroupResource(), bound.Name, fmt.Errorf("the UID in the bound object reference does not match"))
	}
	if *request.Spec.ExpirationSeconds < 600 {
		return true, nil, apierrors.NewBadRequest("may not specify a duration less than 10 minutes")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tokens = append(a.tokens, time.Now())
	request.Status.Token = fmt.Sprintf("token-%d", len(a.tokens))
	request.Status.ExpirationTimestamp = metav1.NewTime(time.Now().Add(a.life))
	return true, request, nil
}
