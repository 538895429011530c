package lab

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
)

// foreignLab is a lab that looks at an operator whose pod's program ends again and again.
func foreignLab(client *fake.Clientset) *Lab {
	return &Lab{Client: client, Say: func(string) {}, Deployment: replica.Deployment{Client: client, Namespace: "theirs", Name: "manager", Foreign: true},
		foreign: &Foreign{Namespace: "theirs", Deployment: "manager", LeaseNamespace: "theirs", LeaseName: "lock"}}
}

func crashing() []*corev1.Pod {
	return []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "theirs", Name: "manager-1", Labels: map[string]string{"app": "manager"}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 2}}}}}}}
}

func TestFirstLease_SaysWhatThePodsDoIfItDoesNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "theirs", Name: "manager"},
			Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "manager"}}}}, crashing()[0])
		_, err := foreignLab(client).firstLease(t.Context())
		var problem *provider.Problem
		if !errors.As(err, &problem) || !strings.Contains(err.Error(), "there is no Lease theirs/lock after 1m0s: manager-1 is in CrashLoopBackOff, its program ended with 2") || problem.Hint != "kubectl -n theirs logs manager-1" {
			t.Errorf("got %v", err)
		}
	})
}

func TestFirstLease_IsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "theirs", Name: "manager"},
			Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{}}})
		l := foreignLab(client)
		l.Say = func(string) { // once it is being waited for
			_, err := client.CoordinationV1().Leases("theirs").Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "lock"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: new("manager-1")}}, metav1.CreateOptions{})
			if err != nil {
				t.Error(err)
			}
		}
		lease, err := l.firstLease(t.Context())
		if err != nil || lease == nil || lease.Holder != "manager-1" {
			t.Errorf("got %+v, %v", lease, err)
		}
	})
}
