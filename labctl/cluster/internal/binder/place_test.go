package binder

import (
	"fmt"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const host = corev1.LabelHostname

func app(name string) map[string]string { return map[string]string{"app": name} }

func term(name, key string) []corev1.PodAffinityTerm {
	return []corev1.PodAffinityTerm{{LabelSelector: &metav1.LabelSelector{MatchLabels: app(name)}, TopologyKey: key}}
}

func apart(name, key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term(name, key)}}
	}
}

func together(name, key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term(name, key)}}
	}
}

func spread(key string, domains *int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: key, MinDomains: domains,
			WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: app("x")}}}
	}
}

func labelled(name string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Labels = app(name) } }

func asks(what corev1.ResourceName, amount string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{what: resource.MustParse(amount)}}}}
	}
}

func has(cpu, pods string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourcePods: resource.MustParse(pods)}
	}
}

// there is a pod that runs on node a, or elsewhere if a change says so.
func there(change ...func(*corev1.Pod)) *corev1.Pod {
	p := pod("there", change...)
	p.UID = "uid-of-another"
	if p.Spec.NodeName == "" {
		p.Spec.NodeName = "a"
	}
	return p
}

func TestRoomAndNeighbours(t *testing.T) {
	ended := func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }
	two := int32(2)
	tests := map[string]struct {
		pod   *corev1.Pod
		other *corev1.Pod
		want  string // the refusal; "" if it is bound
	}{
		"fits":                          {pod: pod("p", asks("cpu", "1")), other: there(asks("cpu", "1"))},
		"too much":                      {pod: pod("p", asks("cpu", "1500m")), other: there(asks("cpu", "1")), want: "insufficient cpu: 1500m asked for, 1 free"},
		"an ended pod takes nothing":    {pod: pod("p", asks("cpu", "2")), other: there(asks("cpu", "1"), ended)},
		"nothing of the kind":           {pod: pod("p", asks("example.com/gpu", "1")), other: there(), want: "insufficient example.com/gpu: 1 asked for, 0 free"},
		"apart":                         {pod: pod("p", apart("x", host)), other: there(labelled("x")), want: "node does not match the pod's anti-affinity to other pods"},
		"apart from others":             {pod: pod("p", apart("x", host)), other: there(labelled("y"))},
		"the other wants to be apart":   {pod: pod("p", labelled("x")), other: there(apart("x", host)), want: "pod ns/there on the node does not want the pod beside it"},
		"together":                      {pod: pod("p", together("x", host)), other: there(labelled("x"))},
		"together, and nobody there":    {pod: pod("p", together("x", host)), other: there(), want: "node does not match the pod's affinity to other pods"},
		"the first of its kind":         {pod: pod("p", labelled("x"), together("x", host)), other: there()},
		"together in no zone":           {pod: pod("p", together("x", "zone")), other: there(labelled("x")), want: "node does not match the pod's affinity to other pods"},
		"spread over one node":          {pod: pod("p", labelled("x"), spread(host, nil)), other: there(labelled("x"))},
		"spread over two of one":        {pod: pod("p", labelled("x"), spread(host, &two)), other: there(labelled("x")), want: "node does not match the pod's topology spread constraints"},
		"spread over zones without one": {pod: pod("p", labelled("x"), spread("zone", nil)), other: there(), want: "node has no label zone for the pod's topology spread constraints"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			want := "Normal Scheduled Successfully assigned ns/p to a"
			if tt.want != "" {
				want = "Warning FailedScheduling 0/1 nodes are available: a: " + tt.want
			}
			if got := newLab(t, node("a", has("2", "10")), tt.other, tt.pod).event(t); got != want {
				t.Errorf("got event %q, want %q", got, want)
			}
		})
	}
}

func TestSpreadTakesTheEmptierNode(t *testing.T) {
	l := newLab(t, node("a"), node("b"), there(labelled("x")), pod("p", labelled("x"), spread(host, nil)))
	if got, want := l.event(t), "Normal Scheduled Successfully assigned ns/p to b"; got != want {
		t.Errorf("got event %q, want %q", got, want)
	}
}

// TestPodsBoundAtOnceSeeEachOther binds more pods than there is room for, faster than they are seen to be bound.
func TestPodsBoundAtOnceSeeEachOther(t *testing.T) {
	l := newLab(t, node("a", has("2", "3")))
	for i := range 5 {
		p := pod(fmt.Sprint("p", i))
		p.UID = types.UID(p.Name)
		if _, err := l.client.CoreV1().Pods("ns").Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	events := map[string]int{}
	for range 5 {
		events[l.event(t)[:15]]++
	}
	if events["Normal Schedule"] != 3 || events["Warning FailedS"] != 2 {
		t.Errorf("events %v, want 3 bound and 2 not", events)
	}
}

func TestRoomThatIsGivenBackIsTaken(t *testing.T) {
	give := map[string]func(*testing.T, lab){
		"by a delete": func(t *testing.T, l lab) {
			if err := l.client.CoreV1().Pods("ns").Delete(t.Context(), "there", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		},
		"by an end": func(t *testing.T, l lab) {
			ended := there(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
			if _, err := l.client.CoreV1().Pods("ns").UpdateStatus(t.Context(), ended, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, f := range give {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, node("a", has("2", "1")), there(), pod("p"))
				l.event(t)
				synctest.Wait() // the change that the refusal itself makes is seen
				f(t, l)
				if got, want := l.event(t), "Normal Scheduled Successfully assigned ns/p to a"; got != want {
					t.Errorf("got event %q, want %q", got, want)
				}
			})
		})
	}
}
