package agent

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
)

// TestNodeIsCurrent is about what makes the agent write its Node again.
func TestNodeIsCurrent(t *testing.T) {
	now := time.Now()
	at := func(uid types.UID, ready corev1.ConditionStatus, told time.Time) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: testNode, UID: uid}, Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, LastHeartbeatTime: metav1.NewTime(told)}},
		}}
	}
	tests := map[string]struct {
		there *corev1.Node
		down  bool
		want  bool
	}{
		"as it was":       {there: at("own", corev1.ConditionTrue, now), want: true},
		"deleted":         {},
		"made by another": {there: at("other", corev1.ConditionTrue, now)},
		"said not ready":  {there: at("own", corev1.ConditionFalse, now)},
		"long not told":   {there: at("own", corev1.ConditionTrue, now.Add(-nodeReport))},
		"no answer":       {down: true, want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t)
			if test.there != nil {
				if err := a.Tracker().Add(test.there); err != nil {
					t.Fatal(err)
				}
			}
			a.setDown(test.down)
			n := &node{cfg: Config{NodeName: testNode}, client: a}
			if got := n.isCurrent(t.Context(), at("own", corev1.ConditionTrue, now)); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

// TestNodeComesBack deletes the Node: the agent enters itself again, and its Lease belongs to the new object.
func TestNodeComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		made := 0
		a.PrependReactor("create", "nodes", func(action k8stesting.Action) (bool, runtime.Object, error) {
			made++ // a Node that is there keeps its own
			action.(k8stesting.CreateAction).GetObject().(*corev1.Node).UID = types.UID(fmt.Sprint("life-", made))
			return false, nil, nil
		})
		n := &node{cfg: Config{NodeName: testNode}, client: a, timing: testTiming(), log: slog.Default(), recorder: record.NewFakeRecorder(10)}
		ctx, cancel := context.WithCancel(t.Context())
		n.wg.Go(func() { n.keepNode(ctx, 1) })
		owner := func() types.UID {
			l, err := a.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, testNode, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return l.OwnerReferences[0].UID
		}
		synctest.Wait()
		if got := owner(); got != "life-1" {
			t.Errorf("the lease is owned by %s", got)
		}
		if err := a.CoreV1().Nodes().Delete(ctx, testNode, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2*nodeLook + time.Second)
		synctest.Wait()
		got, err := a.CoreV1().Nodes().Get(ctx, testNode, metav1.GetOptions{})
		if err != nil || got.UID != "life-2" || owner() != "life-2" {
			t.Errorf("got %+v, %v; the lease is owned by %s", got, err, owner())
		}
		before := readyCondition(got).LastHeartbeatTime
		time.Sleep(nodeReport + nodeLook)
		synctest.Wait()
		if got, err = a.CoreV1().Nodes().Get(ctx, testNode, metav1.GetOptions{}); err != nil || !before.Before(&readyCondition(got).LastHeartbeatTime) {
			t.Errorf("the status is not written again: %+v, %v", got.Status, err)
		}
		cancel()
		n.wg.Wait()
	})
}
