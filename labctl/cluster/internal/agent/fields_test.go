package agent

import (
	"os"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// decision is what becomes of one field of a pod's spec on this node.
type decision struct {
	how  outcome
	set  func(*corev1.Pod) // makes use of the field, where that is refused or left undone
	want string            // the event's words about it
}

type outcome string

const (
	honoured   outcome = "honoured by the node"
	elsewhere  outcome = "done by the API server, a controller or the binder"
	idle       outcome = "of no effect where no image is pulled, nothing is preempted and nothing is resized"
	walked     outcome = "its fields are decided one by one"
	refused    outcome = "refused with an event: the pod stays Pending"
	unenforced outcome = "told by an event and not enforced"
)

func is(how outcome) decision { return decision{how: how} }

func refuses(want string, set func(*corev1.Pod)) decision { return decision{refused, set, want} }

func leaves(want string, set func(*corev1.Pod)) decision { return decision{unenforced, set, want} }

// ofMain makes a change of the container.
func ofMain(f func(*corev1.Container)) func(*corev1.Pod) {
	return func(p *corev1.Pod) { f(&p.Spec.Containers[0]) }
}

func ofPodSecurity(f func(*corev1.PodSecurityContext)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.SecurityContext = &corev1.PodSecurityContext{}
		f(p.Spec.SecurityContext)
	}
}

func ofSecurity(f func(*corev1.SecurityContext)) func(*corev1.Pod) {
	return ofMain(func(c *corev1.Container) {
		c.SecurityContext = &corev1.SecurityContext{}
		f(c.SecurityContext)
	})
}

// ofMount makes a change of an emptyDir at /tmp, which alone would be fine.
func ofMount(f func(*corev1.VolumeMount, *corev1.EmptyDirVolumeSource)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		dir := &corev1.EmptyDirVolumeSource{}
		p.Spec.Volumes = []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: dir}}}
		p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}}
		f(&p.Spec.Containers[0].VolumeMounts[0], dir)
	}
}

// ofToken makes a change of the volume with the service account's token, which alone would be fine.
func ofToken(f func(*corev1.VolumeProjection)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		source := corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}
		f(&source)
		p.Spec.Volumes = []corev1.Volume{{Name: "account", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{source}}}}}
		p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "account", MountPath: accountMount}}
	}
}

// asOthers is of runAsNonRoot, which is true of itself when the agent is not root.
func asOthers(set func(*corev1.Pod)) decision {
	if os.Geteuid() != 0 {
		return is(honoured)
	}
	return leaves("runAsNonRoot", set)
}

// TestEveryFieldIsDecided fails for a field that a new version of Kubernetes has added, until somebody writes down here what
// becomes of it; and for each decision to refuse or to leave out, it looks whether the pod is told so.
func TestEveryFieldIsDecided(t *testing.T) {
	decided, reached := decisions(), map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(kind reflect.Type) {
		if reached[kind] {
			return
		}
		reached[kind] = true
		fields := map[string]bool{}
		for i := range kind.NumField() {
			field := kind.Field(i)
			fields[field.Name] = true
			d, there := decided[kind][field.Name]
			switch {
			case !there:
				t.Errorf("%s.%s is not decided: is it honoured, refused in refuse.go, or left out and told?", kind.Name(), field.Name)
			case d.how == walked:
				walk(element(field.Type))
			case d.set != nil:
				t.Run(kind.Name()+"."+field.Name, d.check)
			}
		}
		for name := range decided[kind] {
			if !fields[name] {
				t.Errorf("%s.%s is decided and not there", kind.Name(), name)
			}
		}
	}
	walk(reflect.TypeFor[corev1.PodSpec]())
	for kind := range decided {
		if !reached[kind] {
			t.Errorf("%s is decided and nobody gets to it", kind.Name())
		}
	}
}

// element is the struct at the bottom of pointers and lists.
func element(kind reflect.Type) reflect.Type {
	for kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
		kind = kind.Elem()
	}
	return kind
}

func (d decision) check(t *testing.T) {
	p := pod("subject", "polite")
	if v := examine(p); v.refusal() != "" || v.remark() != "" {
		t.Fatalf("the plain pod: %+v", v)
	}
	d.set(p)
	v := examine(p)
	told, other := v.refusal(), v.remark()
	if d.how == unenforced {
		told, other = other, told
	}
	if !strings.Contains(told, d.want) || other != "" {
		t.Errorf("told %q, and %q; want %q", told, other, d.want)
	}
}

func TestWhatIsMounted(t *testing.T) {
	fine := map[string]func(*corev1.Pod){
		"emptyDir at /tmp": ofMount(func(*corev1.VolumeMount, *corev1.EmptyDirVolumeSource) {}),
		"token":            ofToken(func(*corev1.VolumeProjection) {}),
	}
	for name, set := range fine {
		p := pod("subject", "polite", set)
		if v := examine(p); v.refusal() != "" || v.remark() != "" {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func ptr[T any](v T) *T { return &v }

func quantity(text string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(text)}
}
