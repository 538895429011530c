package agent

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/version"
	"k8s.io/component-helpers/apimachinery/lease"
	"k8s.io/utils/clock"
)

const (
	hostIP = "127.0.0.1"
	// leaseSeconds and leaseRenewal are a kubelet's own.
	leaseSeconds = 40
	leaseRenewal = 10 * time.Second
	// nodeLook is how often the Node object is looked at, nodeReport how often it is written although nothing has changed.
	// Both are a kubelet's own.
	nodeLook   = 10 * time.Second
	nodeReport = 5 * time.Minute
)

// keepNode registers the node with its kubelet API's port, and renews its lease and its status until ctx ends.
func (n *node) keepNode(ctx context.Context, port int) {
	var registered atomic.Pointer[corev1.Node]
	enter := func() error {
		object, err := n.register(ctx, port)
		if err != nil {
			return err
		}
		if before := registered.Swap(object); before == nil || before.UID != object.UID {
			ref := &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: object.Name, UID: object.UID}
			n.recorder.Eventf(ref, corev1.EventTypeNormal, "NodeReady", "Node %s status is now: NodeReady", object.Name)
		}
		return nil
	}
	if n.retry(ctx, "register node", enter) != nil {
		return
	}
	own := func(l *coordinationv1.Lease) error {
		object := registered.Load()
		l.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: object.Name, UID: object.UID}}
		return nil
	}
	controller := lease.NewController(clock.RealClock{}, n.client, n.cfg.NodeName, leaseSeconds, nil, leaseRenewal,
		n.cfg.NodeName, corev1.NamespaceNodeLease, own)
	n.wg.Go(func() { controller.Run(ctx) })
	tick := time.NewTicker(nodeLook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if n.isCurrent(ctx, registered.Load()) {
			continue
		}
		if err := enter(); err != nil && ctx.Err() == nil {
			n.log.Warn("will try again", "action", "report node", "error", err, "wait", nodeLook.String())
		}
	}
}

// isCurrent is false for a Node that must be written: it is gone or another, says that it is not ready, or was not written
// for long. Where the API server does not tell, nothing can be done.
func (n *node) isCurrent(ctx context.Context, registered *corev1.Node) bool {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	got, err := n.client.CoreV1().Nodes().Get(ctx, n.cfg.NodeName, metav1.GetOptions{ResourceVersion: "0"})
	if err != nil {
		return !apierrors.IsNotFound(err)
	}
	at := readyCondition(got)
	return got.UID == registered.UID && at != nil && at.Status == corev1.ConditionTrue && time.Since(at.LastHeartbeatTime.Time) < nodeReport
}

func readyCondition(node *corev1.Node) *corev1.NodeCondition {
	i := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if i < 0 {
		return nil
	}
	return &node.Status.Conditions[i]
}

// register creates the Node or takes the existing one over, and makes it ready and free of the taint of new nodes.
func (n *node) register(ctx context.Context, port int) (*corev1.Node, error) {
	nodes := n.client.CoreV1().Nodes()
	want := n.object(port)
	got, err := nodes.Create(ctx, want, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		got, err = nodes.Get(ctx, want.Name, metav1.GetOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("create node: %w", err)
	}
	earlier := readyCondition(got)
	if earlier != nil && earlier.Status == corev1.ConditionTrue {
		readyCondition(want).LastTransitionTime = earlier.LastTransitionTime
	}
	got.Status = want.Status
	if got, err = nodes.UpdateStatus(ctx, got, metav1.UpdateOptions{}); err != nil {
		return nil, fmt.Errorf("update node status: %w", err)
	}
	isNew := func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady }
	if !slices.ContainsFunc(got.Spec.Taints, isNew) {
		return got, nil
	}
	got.Spec.Taints = slices.DeleteFunc(got.Spec.Taints, isNew)
	if got, err = nodes.Update(ctx, got, metav1.UpdateOptions{}); err != nil {
		return nil, fmt.Errorf("remove taint of new nodes: %w", err)
	}
	return got, nil
}

func (n *node) object(port int) *corev1.Node {
	now := metav1.Now()
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: n.cfg.NodeName,
			Labels: map[string]string{
				corev1.LabelHostname:   n.cfg.NodeName,
				corev1.LabelOSStable:   runtime.GOOS,
				corev1.LabelArchStable: runtime.GOARCH,
			},
		},
		Status: corev1.NodeStatus{
			Capacity:    n.capacity(),
			Allocatable: n.capacity(),
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: hostIP},
				{Type: corev1.NodeHostName, Address: n.cfg.NodeName},
			},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(port)}},
			NodeInfo: corev1.NodeSystemInfo{
				OperatingSystem: runtime.GOOS, Architecture: runtime.GOARCH, KernelVersion: kernelVersion(),
				KubeletVersion:          version.Get().GitVersion,
				ContainerRuntimeVersion: "process://1",
				OSImage:                 "local processes",
			},
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "AgentReady", Message: "pods run as local processes",
				LastHeartbeatTime: now, LastTransitionTime: now,
			}},
		},
	}
}

func kernelVersion() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return ""
	}
	return unix.ByteSliceToString(name.Release[:])
}

func (n *node) capacity() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(runtime.NumCPU()), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(memoryBytes(), resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(110, resource.DecimalSI),
	}
}

// memoryBytes is the machine's memory where the kernel tells it as a file, else a plausible 8 GiB: nothing is limited by it.
func memoryBytes() int64 {
	var kib int64
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 8 << 30
	}
	if _, err := fmt.Sscanf(string(data), "MemTotal: %d kB", &kib); err != nil {
		return 8 << 30
	}
	return kib << 10
}
