package providertest

import (
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func environment(p *pods) {
	p.around()
	field := func(name, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
	}
	plain := func(name, value string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: value} }
	key := func(name, config, key string, optional bool) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: config}, Key: key, Optional: &optional}}}
	}
	pod, _ := p.running("environment", []string{"show", "--at=$(A)", "$(NONE)", "$$(A)"}, func(pod *corev1.Pod) {
		c := &pod.Spec.Containers[0]
		c.Env = append(c.Env, field("A", "metadata.name"), field("B", "metadata.namespace"), field("C", "metadata.labels['case']"), field("D", "metadata.uid"),
			field("E", "spec.nodeName"), field("F", "status.hostIP"), field("G", "spec.serviceAccountName"),
			plain("H", "$(A)2"), plain("I", "$(LATER)"), plain("LATER", "x"), plain("J", "$(WEB_SERVICE_HOST)"), plain("WEB_SERVICE_PORT", "mine"),
			key("K", "config", "color", false), key("L", "config", "none", true), key("M", "none", "color", true),
			corev1.EnvVar{Name: "N", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.memory", Divisor: resource.MustParse("1Mi")}}})
		c.EnvFrom = []corev1.EnvFromSource{{Prefix: "S_", SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "secret"}}}}
		c.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}
	})
	log := p.log(pod)
	if _, shown := log.line("shown"); !shown {
		p.Fatal("the program did not show its environment")
	}
	lines, _ := log.all()
	text := "\n" + strings.Join(lines, "\n") + "\n"
	service, err := p.client.CoreV1().Services(p.namespace).Get(p.Context(), "web", metav1.GetOptions{})
	if err != nil {
		p.Fatal(err)
	}
	for _, want := range []string{"env A=environment", "env B=" + p.namespace, "env C=environment", "env D=" + string(pod.UID), "env E=" + pod.Spec.NodeName, "env F=" + pod.Status.HostIP,
		"env G=default", "env H=environment2", "env I=$(LATER)", "env J=" + service.Spec.ClusterIP, "env WEB_SERVICE_PORT=mine", "env K=blue", "env N=64", "env S_word=sesame",
		"env POD_IP=" + pod.Status.PodIP, "env HOSTNAME=environment", "env KUBERNETES_SERVICE_HOST=", "arg --at=environment", "arg $(NONE)", "arg $(A)"} {
		if !strings.Contains(text, "\n"+want+"\n") && !(strings.HasSuffix(want, "HOST=") && strings.Contains(text, "\n"+want)) {
			p.Errorf("the program does not see %q: %s", want, text)
		}
	}
	for _, absent := range []string{"env L=", "env M="} {
		if strings.Contains(text, "\n"+absent) {
			p.Errorf("the program sees %q", absent)
		}
	}
}

// around makes what the environment is taken from.
func (p *pods) around() {
	p.Helper()
	core := p.client.CoreV1()
	_, err1 := core.Services(p.namespace).Create(p.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}, metav1.CreateOptions{})
	_, err2 := core.ConfigMaps(p.namespace).Create(p.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "config"}, Data: map[string]string{"color": "blue"}}, metav1.CreateOptions{})
	_, err3 := core.Secrets(p.namespace).Create(p.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "secret"}, Data: map[string][]byte{"word": []byte("sesame")}}, metav1.CreateOptions{})
	if err := errors.Join(err1, err2, err3); err != nil {
		p.Fatal(err)
	}
}
