package agent

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/api/v1/resource"
	"k8s.io/kubernetes/pkg/fieldpath"
	"k8s.io/kubernetes/pkg/kubelet/envvars"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

// variables are a container's environment in layers, each over the one before.
type variables struct {
	base     map[string]string // what the node gives every pod
	services map[string]string
	from     map[string]string // envFrom
	env      map[string]string // env
}

// declared are those that $(NAME) may refer to; of the node's own, which are not among them with a kubelet, only KUBECONFIG.
func (v *variables) declared() map[string]string {
	all := maps.Clone(v.services)
	if path, has := v.base["KUBECONFIG"]; has { // so that --kubeconfig=$(KUBECONFIG) runs a program that reads no variable
		all["KUBECONFIG"] = path
	}
	maps.Copy(all, v.from)
	maps.Copy(all, v.env)
	return all
}

func (v *variables) list() []string {
	all := maps.Clone(v.base)
	maps.Copy(all, v.declared())
	list := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, name+"="+all[name])
	}
	return list
}

// environment resolves all of a container's variables; it asks the API server for services, ConfigMaps and Secrets.
func (w *worker) environment(ctx context.Context, pod *corev1.Pod, c *corev1.Container) (*variables, error) {
	v := &variables{base: w.baseVariables(pod), from: map[string]string{}, env: map[string]string{}}
	services, err := w.serviceVariables(ctx, pod)
	if err != nil {
		return nil, err
	}
	v.services = services
	for _, source := range c.EnvFrom {
		data, err := w.bulk(ctx, pod.Namespace, source)
		if err != nil {
			return nil, err
		}
		for key, value := range data {
			v.from[source.Prefix+key] = value
		}
	}
	for _, e := range c.Env {
		value, skip, err := w.value(ctx, pod, c, e, v)
		if err != nil {
			return nil, err
		}
		if !skip {
			v.env[e.Name] = value
		}
	}
	return v, nil
}

func (w *worker) baseVariables(pod *corev1.Pod) map[string]string {
	base := map[string]string{
		"PATH":     w.binDir() + ":" + systemPath,
		"HOME":     w.workDir(),
		"TMPDIR":   w.temp,
		"HOSTNAME": hostname(pod),
	}
	if wantsToken(pod) {
		base["KUBECONFIG"] = w.kubeconfigPath()
	}
	return base
}

// hostname is what a kubelet would name the pod's host. Here only the variable has it: the host is the machine itself.
func hostname(pod *corev1.Pod) string {
	name := cmp.Or(deref(pod.Spec.HostnameOverride), pod.Spec.Hostname, pod.Name)
	return strings.TrimRight(name[:min(len(name), longestHostname)], "-.")
}

// longestHostname is the kernel's limit, at which a kubelet cuts.
const longestHostname = 63

// serviceVariables are those of the namespace's services; KUBERNETES_SERVICE_* name the pod's relay, which is where
// the API server can be reached.
func (w *worker) serviceVariables(ctx context.Context, pod *corev1.Pod) (map[string]string, error) {
	services := []*corev1.Service{{
		ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"},
		Spec: corev1.ServiceSpec{
			ClusterIP: "127.0.0.1",
			Ports:     []corev1.ServicePort{{Name: "https", Port: int32(w.gear.relay.Port()), Protocol: corev1.ProtocolTCP}},
		},
	}}
	if pod.Spec.EnableServiceLinks == nil || *pod.Spec.EnableServiceLinks {
		list, err := w.services(ctx, pod.Namespace)
		if err != nil {
			return nil, err
		}
		for i := range list {
			s := &list[i]
			if s.Name != "kubernetes" || s.Namespace != metav1.NamespaceDefault {
				services = append(services, s)
			}
		}
	}
	result := map[string]string{}
	for _, e := range envvars.FromServices(services) {
		result[e.Name] = e.Value
	}
	return result, nil
}

// value is one variable of env; skip is true for an optional source that is not there.
func (w *worker) value(ctx context.Context, pod *corev1.Pod, c *corev1.Container, e corev1.EnvVar, v *variables) (value string, skip bool, err error) {
	if e.Value != "" || e.ValueFrom == nil {
		return expansion.Expand(e.Value, expansion.MappingFuncFor(v.env, v.from, v.services)), false, nil
	}
	switch source := e.ValueFrom; {
	case source.FieldRef != nil:
		value, err = w.field(pod, source.FieldRef.FieldPath)
	case source.ResourceFieldRef != nil:
		value, err = w.resourceField(pod, c, source.ResourceFieldRef)
	case source.ConfigMapKeyRef != nil:
		ref := source.ConfigMapKeyRef
		return w.key(ctx, "ConfigMap", pod.Namespace, ref.Name, ref.Key, isSet(ref.Optional))
	case source.SecretKeyRef != nil:
		ref := source.SecretKeyRef
		return w.key(ctx, "Secret", pod.Namespace, ref.Name, ref.Key, isSet(ref.Optional))
	default:
		err = &refusal{reasonUnsupported, fmt.Sprintf("env %s: this node knows no such source of a value", e.Name)}
	}
	return value, false, err
}

func (w *worker) field(pod *corev1.Pod, path string) (string, error) {
	switch path {
	case "spec.nodeName":
		return pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.podIP", "status.podIPs":
		return w.ip, nil
	case "status.hostIP", "status.hostIPs":
		return hostIP, nil
	}
	value, err := fieldpath.ExtractFieldPathAsString(pod, path)
	if err != nil {
		return "", &refusal{reasonUnsupported, err.Error()}
	}
	return value, nil
}

func (w *worker) resourceField(pod *corev1.Pod, c *corev1.Container, ref *corev1.ResourceFieldSelector) (string, error) {
	name := ref.ContainerName
	if name == "" {
		name = c.Name
	}
	value, err := resource.ExtractResourceValueByContainerNameAndNodeAllocatable(ref, pod, name, w.node.capacity())
	if err != nil {
		return "", &refusal{reasonUnsupported, err.Error()}
	}
	return value, nil
}

// key is one entry of a ConfigMap or Secret; skip is true if it is optional and not there.
func (w *worker) key(ctx context.Context, kind, namespace, name, key string, optional bool) (value string, skip bool, err error) {
	data, err := w.data(ctx, kind, namespace, name)
	if apierrors.IsNotFound(err) && optional {
		return "", true, nil
	}
	if err != nil {
		return "", false, err
	}
	value, there := data[key]
	if !there && !optional {
		return "", false, fmt.Errorf("couldn't find key %s in %s %s/%s", key, kind, namespace, name)
	}
	return value, !there, nil
}

func (w *worker) bulk(ctx context.Context, namespace string, source corev1.EnvFromSource) (map[string]string, error) {
	kind, name, optional := "", "", false
	switch {
	case source.ConfigMapRef != nil:
		kind, name, optional = "ConfigMap", source.ConfigMapRef.Name, isSet(source.ConfigMapRef.Optional)
	case source.SecretRef != nil:
		kind, name, optional = "Secret", source.SecretRef.Name, isSet(source.SecretRef.Optional)
	default:
		return nil, &refusal{reasonUnsupported, "envFrom: this node knows no such source of values"}
	}
	data, err := w.data(ctx, kind, namespace, name)
	if apierrors.IsNotFound(err) && optional {
		return nil, nil
	}
	return data, err
}

// readConfig reads a ConfigMap or Secret.
func (w *worker) readConfig(ctx context.Context, kind, namespace, name string) (map[string]string, error) {
	if kind == "ConfigMap" {
		object, err := w.node.client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return object.Data, nil
	}
	object, err := w.node.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	data := make(map[string]string, len(object.Data))
	for key, value := range object.Data {
		if strings.ContainsRune(string(value), 0) {
			return nil, &refusal{reasonUnsupported, "Secret " + name + ", key " + strconv.Quote(key) + ": a variable cannot hold a zero byte"}
		}
		data[key] = string(value)
	}
	return data, nil
}

func isSet(optional *bool) bool { return optional != nil && *optional }
