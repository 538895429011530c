package binder

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// misplaced says which of the rules about other pods the node would break, or nil: required affinity and anti-affinity, the
// latter also of the pods that are there, and spreading.
func misplaced(node *corev1.Node, pod *corev1.Pod, nodes []*corev1.Node, around map[string][]*corev1.Pod) error {
	domain := func(key string) []*corev1.Pod { return inDomain(node, key, nodes, around) }
	affinity, anti := terms(pod)
	for _, term := range affinity {
		selects, err := selector(term, pod)
		if err != nil {
			return err
		}
		_, labelled := node.Labels[term.TopologyKey]
		alone := !slices.ContainsFunc(everywhere(around), selects) && selects(pod) // the first of its kind
		if !labelled || !alone && !slices.ContainsFunc(domain(term.TopologyKey), selects) {
			return errors.New("node does not match the pod's affinity to other pods")
		}
	}
	for _, term := range anti {
		selects, err := selector(term, pod)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(domain(term.TopologyKey), selects) {
			return errors.New("node does not match the pod's anti-affinity to other pods")
		}
	}
	for _, other := range everywhere(around) {
		_, theirs := terms(other)
		for _, term := range theirs {
			selects, err := selector(term, other)
			if err == nil && selects(pod) && slices.Contains(domain(term.TopologyKey), other) {
				return fmt.Errorf("pod %s/%s on the node does not want the pod beside it", other.Namespace, other.Name)
			}
		}
	}
	return uneven(node, pod, nodes, around)
}

// terms are what a pod requires of other pods.
func terms(pod *corev1.Pod) (affinity, anti []corev1.PodAffinityTerm) {
	if pod.Spec.Affinity == nil {
		return nil, nil
	}
	if a := pod.Spec.Affinity.PodAffinity; a != nil {
		affinity = a.RequiredDuringSchedulingIgnoredDuringExecution
	}
	if a := pod.Spec.Affinity.PodAntiAffinity; a != nil {
		anti = a.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return affinity, anti
}

// selector is which pods a term of owner's means. Namespaces by their labels are not looked up here: that is an error.
func selector(term corev1.PodAffinityTerm, owner *corev1.Pod) (func(*corev1.Pod) bool, error) {
	selects, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
	if err != nil {
		return nil, fmt.Errorf("read the pod's affinity: %w", err)
	}
	all := false
	if n := term.NamespaceSelector; n != nil {
		if len(n.MatchLabels)+len(n.MatchExpressions) > 0 {
			return nil, errors.New("this cluster's binder does not know a namespaceSelector in an affinity; name the namespaces")
		}
		all = true
	}
	namespaces := term.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{owner.Namespace}
	}
	return func(pod *corev1.Pod) bool {
		return (all || slices.Contains(namespaces, pod.Namespace)) && selects.Matches(labels.Set(pod.Labels))
	}, nil
}

func everywhere(around map[string][]*corev1.Pod) []*corev1.Pod {
	var all []*corev1.Pod
	for _, pods := range around {
		all = append(all, pods...)
	}
	return all
}

// inDomain are the pods on all nodes that share node's value of the label key; none if it has no such label.
func inDomain(node *corev1.Node, key string, nodes []*corev1.Node, around map[string][]*corev1.Pod) []*corev1.Pod {
	value, labelled := node.Labels[key]
	if !labelled {
		return nil
	}
	var pods []*corev1.Pod
	for _, other := range nodes {
		if theirs, has := other.Labels[key]; has && theirs == value {
			pods = append(pods, around[other.Name]...)
		}
	}
	return pods
}

// uneven says whether the node would make the pods spread less evenly than the pod requires, or nil.
func uneven(node *corev1.Node, pod *corev1.Pod, nodes []*corev1.Node, around map[string][]*corev1.Pod) error {
	for _, rule := range pod.Spec.TopologySpreadConstraints {
		if rule.WhenUnsatisfiable != corev1.DoNotSchedule {
			continue
		}
		selects, err := selector(corev1.PodAffinityTerm{LabelSelector: rule.LabelSelector}, pod)
		if err != nil {
			return err
		}
		counted := map[string]int{}
		for _, other := range nodes {
			value, labelled := other.Labels[rule.TopologyKey]
			if match, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(other); labelled && err == nil && match {
				counted[value] = number(inDomain(other, rule.TopologyKey, nodes, around), selects)
			}
		}
		here, labelled := counted[node.Labels[rule.TopologyKey]]
		if !labelled {
			return fmt.Errorf("node has no label %s for the pod's topology spread constraints", rule.TopologyKey)
		}
		least := here
		for _, n := range counted {
			least = min(least, n)
		}
		if rule.MinDomains != nil && len(counted) < int(*rule.MinDomains) {
			least = 0
		}
		if selects(pod) {
			here++
		}
		if here-least > int(rule.MaxSkew) {
			return errors.New("node does not match the pod's topology spread constraints")
		}
	}
	return nil
}

func number(pods []*corev1.Pod, selects func(*corev1.Pod) bool) int {
	n := 0
	for _, pod := range pods {
		if selects(pod) {
			n++
		}
	}
	return n
}
