package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func fieldRef(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

func plain(name, value string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: value} }

func configKey(name, config, key string, optional bool) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: config}, Key: key, Optional: &optional,
	}}}
}

func around() []runtime.Object {
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "space", Name: name} }
	return []runtime.Object{
		&corev1.Service{ObjectMeta: meta("web"), Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.9", Ports: []corev1.ServicePort{{Port: 80}}}},
		&corev1.ConfigMap{ObjectMeta: meta("config"), Data: map[string]string{"color": "blue"}},
		&corev1.Secret{ObjectMeta: meta("secret"), Data: map[string][]byte{"word": []byte("sesame")}},
	}
}

// environmentTest is what a container asks for and what its program then sees; {uid} and {ip} are the pod's.
type environmentTest struct {
	env    []corev1.EnvVar
	change func(*corev1.Pod)
	want   []string
	absent []string
}

func TestEnvironment(t *testing.T) {
	limits := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}
	tests := map[string]environmentTest{
		"names of the pod": {
			env:  []corev1.EnvVar{fieldRef("A", "metadata.name"), fieldRef("B", "metadata.namespace"), fieldRef("C", "metadata.labels['role']"), fieldRef("D", "metadata.uid")},
			want: []string{"A=subject", "B=space", "C=test", "D={uid}", "HOSTNAME=subject"},
		},
		"places": {
			env:  []corev1.EnvVar{fieldRef("A", "spec.nodeName"), fieldRef("B", "spec.serviceAccountName"), fieldRef("C", "status.hostIP"), fieldRef("D", "status.podIP"), fieldRef("E", "status.podIPs")},
			want: []string{"A=" + testNode, "B=account", "C=127.0.0.1", "D={ip}", "E={ip}"},
		},
		"expansion in order": {
			env:  []corev1.EnvVar{plain("A", "1"), plain("B", "$(A)2"), plain("C", "$(LATER)"), plain("LATER", "x"), plain("D", "$$(A)")},
			want: []string{"B=12", "C=$(LATER)", "D=$(A)"},
		},
		"services are lowest": {
			env:  []corev1.EnvVar{plain("A", "$(WEB_SERVICE_HOST)"), plain("WEB_SERVICE_PORT", "mine")},
			want: []string{"A=10.0.0.9", "WEB_SERVICE_PORT=mine", "KUBERNETES_SERVICE_HOST=127.0.0.1"},
		},
		"no service links": {
			change: func(p *corev1.Pod) { off := false; p.Spec.EnableServiceLinks = &off },
			want:   []string{"KUBERNETES_SERVICE_HOST=127.0.0.1"}, absent: []string{"WEB_SERVICE_HOST="},
		},
		"host name of a Job": {
			change: func(p *corev1.Pod) { p.Spec.Hostname = "job-0" },
			want:   []string{"HOSTNAME=job-0"},
		},
		"resources": {
			env:    []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.memory", Divisor: resource.MustParse("1Mi")}}}},
			change: func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Limits = limits },
			want:   []string{"A=64"},
		},
		"sources": {
			env: []corev1.EnvVar{configKey("A", "config", "color", false), configKey("B", "config", "none", true), configKey("C", "none", "color", true)},
			change: func(p *corev1.Pod) {
				p.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{Prefix: "S_", SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "secret"}}}}
			},
			want: []string{"A=blue", "S_word=sesame"}, absent: []string{"B=", "C="},
		},
		"not the agent's own":       {absent: []string{"ACADEMY_TEST_OF_THE_AGENT="}},
		"the node's own can be set": {env: []corev1.EnvVar{plain("HOME", "/home")}, want: []string{"HOME=/home"}},
	}
	t.Setenv("ACADEMY_TEST_OF_THE_AGENT", "1")
	for name, test := range tests {
		t.Run(name, test.run)
	}
}

func (test environmentTest) run(t *testing.T) {
	l := newLab(t)
	for _, object := range around() {
		if err := l.api.Tracker().Add(object); err != nil {
			t.Fatal(err)
		}
	}
	p := pod("subject", "show")
	p.Labels = map[string]string{"role": "test"}
	p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, test.env...)
	if test.change != nil {
		test.change(p)
	}
	l.add(p)
	ready := l.awaitReady("subject")
	shown := l.awaitLog(p, 0, " dir ")
	known := strings.NewReplacer("{uid}", string(p.UID), "{ip}", ready.Status.PodIP)
	for _, want := range test.want {
		if !strings.Contains(shown, " env "+known.Replace(want)+"\n") {
			t.Errorf("environment lacks %s: %s", known.Replace(want), shown)
		}
	}
	for _, absent := range test.absent {
		if strings.Contains(shown, " env "+absent) {
			t.Errorf("environment has %s: %s", absent, shown)
		}
	}
}

func TestCommand(t *testing.T) {
	self := filepath.Base(os.Args[0])
	tests := map[string]struct {
		command, args []string
		want          []string
	}{
		"args after the program":      {args: []string{"--at=$(A)", "$(NONE)"}, want: []string{"--at=1", "$(NONE)"}},
		"command replaces it":         {command: []string{"sh", "-c", "exec " + self + " $0", "x"}, want: []string{"x"}},
		"command and args":            {command: []string{"/" + self, "a"}, args: []string{"b"}, want: []string{"a", "b"}},
		"the program's name is found": {command: []string{self}, args: []string{"b"}, want: []string{"b"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			p := pod("subject", "show")
			c := &p.Spec.Containers[0]
			c.Command, c.Args, c.Env = test.command, test.args, append(c.Env, plain("A", "1"))
			l.add(p)
			l.awaitReady("subject")
			var got []string
			for line := range strings.Lines(l.awaitLog(p, 0, " dir ")) {
				if _, arg, is := strings.Cut(strings.TrimSpace(line), " arg "); is {
					got = append(got, arg)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("arguments = %q, want %q", got, test.want)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	main := func(f func(*corev1.Container)) func(*corev1.Pod) {
		return func(p *corev1.Pod) { f(&p.Spec.Containers[0]) }
	}
	tests := map[string]struct {
		change  func(*corev1.Pod)
		reason  string
		event   string
		message string
	}{
		"unknown image":   {main(func(c *corev1.Container) { c.Image = "other:1" }), reasonNoImage, reasonNoImage, "it knows program"},
		"init containers": {func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{{Name: "first"}} }, reasonUnsupported, "Unsupported", "init containers"},
		"host network":    {func(p *corev1.Pod) { p.Spec.HostNetwork = true }, reasonUnsupported, "Unsupported", "hostNetwork"},
		"host path": {func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "disk", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
			p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "disk", MountPath: "/disk"}}
		}, reasonUnsupported, "Unsupported", "volume disk at /disk"},
		"variable of a file": {main(func(c *corev1.Container) {
			c.Env = append(c.Env, corev1.EnvVar{Name: "A", ValueFrom: &corev1.EnvVarSource{FileKeyRef: &corev1.FileKeySelector{}}})
		}), reasonUnsupported, "Unsupported", "env A: this node knows no such source"},
		"hooks":          {main(func(c *corev1.Container) { c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{}} }), reasonUnsupported, "Unsupported", "lifecycle hooks"},
		"unknown field":  {main(func(c *corev1.Container) { c.Env = append(c.Env, fieldRef("A", "spec.unknown")) }), reasonUnsupported, "Unsupported", "spec.unknown"},
		"no such config": {main(func(c *corev1.Container) { c.Env = append(c.Env, configKey("A", "none", "x", false)) }), reasonConfigError, "Failed", "\"none\" not found"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			p := pod("subject", "polite", test.change)
			l.add(p)
			refused := l.await("subject", "refused", func(p *corev1.Pod) bool {
				waiting := first(p).State.Waiting
				return waiting != nil && waiting.Reason == test.reason
			})
			if message := refused.Status.ContainerStatuses[0].State.Waiting.Message; refused.Status.Phase != corev1.PodPending || !strings.Contains(message, test.message) {
				t.Errorf("phase %s, message %q", refused.Status.Phase, message)
			}
			if event := l.awaitEvent(test.event); !strings.HasPrefix(event, corev1.EventTypeWarning) || !strings.Contains(event, test.message) {
				t.Errorf("event %q", event)
			}
			l.delete("subject", -1)
			l.awaitGone("subject")
			l.awaitClean(p)
		})
	}
}

func TestMissingConfigComesLater(t *testing.T) {
	l := newLab(t)
	p := pod("subject", "show", func(p *corev1.Pod) {
		p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, configKey("A", "config", "color", false))
	})
	l.add(p)
	l.awaitEvent("Failed")
	for _, object := range around() {
		if err := l.api.Tracker().Add(object); err != nil {
			t.Fatal(err)
		}
	}
	l.awaitReady("subject")
	l.awaitLog(p, 0, " env A=blue\n")
}

func TestHostname(t *testing.T) {
	tests := map[string]struct {
		change func(*corev1.PodSpec)
		want   string
	}{
		"the pod's":  {func(*corev1.PodSpec) {}, "subject"},
		"of a Job":   {func(s *corev1.PodSpec) { s.Hostname = "job-0" }, "job-0"},
		"overridden": {func(s *corev1.PodSpec) { s.Hostname, s.HostnameOverride = "job-0", ptr("own") }, "own"},
		"too long":   {func(s *corev1.PodSpec) { s.Hostname = strings.Repeat("a", 62) + "-b" }, strings.Repeat("a", 62)},
	}
	for name, test := range tests {
		p := pod("subject", "show")
		test.change(&p.Spec)
		if got := hostname(p); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
