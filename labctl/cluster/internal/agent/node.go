package agent

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

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
)

// keepNode registers the node with its kubelet API's port and renews its lease until ctx ends.
func (n *node) keepNode(ctx context.Context, port int) {
	var registered *corev1.Node
	err := n.retry(ctx, "register node", func() (err error) {
		registered, err = n.register(ctx, port)
		return err
	})
	if err != nil {
		return
	}
	own := func(l *coordinationv1.Lease) error {
		l.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Node", Name: registered.Name, UID: registered.UID,
		}}
		return nil
	}
	controller := lease.NewController(clock.RealClock{}, n.client, n.cfg.NodeName, leaseSeconds, nil, leaseRenewal,
		n.cfg.NodeName, corev1.NamespaceNodeLease, own)
	controller.Run(ctx)
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
				OperatingSystem: runtime.GOOS, Architecture: runtime.GOARCH,
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
