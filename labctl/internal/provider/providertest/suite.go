// Package providertest is the conformance suite: what a pod's life is like on any place to run, by the API alone and the
// provider's abilities. The real kubelet passes it, so what passes it behaves alike where the lab measures.
package providertest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"academy.example/lab/labctl/internal/provider"
)

// ImageName is the subject's image without its tag, for Spec.Images; Image has the tag that every provider takes.
const (
	ImageName = "academy.example/subject"
	Image     = ImageName + ":lab"
)

// Place is what is examined. Provider's abilities are used if it has them, and what needs a missing one is skipped.
type Place struct {
	Provider provider.Provider // nil for any cluster by its kubeconfig
	Cluster  provider.Cluster
	Config   *rest.Config
	// Image is the subject's, with its tag; empty takes Image.
	Image string
	// Namespace is one that somebody has made, for who has the rights of docs/student-role.yaml in it and no other: the suite
	// makes no pod but by a Deployment, and skips what needs more. Empty makes a namespace.
	Namespace string
	// Together is how many cases run side by side; 0 runs them all. A machine that is busy starting pods keeps no times.
	Together int
}

// Subject builds the subject's program, for Linux and this processor, and returns its path.
func Subject(t testing.TB) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "subject")
	build := exec.Command("go", "build", "-o", out, "academy.example/lab/labctl/internal/provider/providertest/subject")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH="+runtime.GOARCH)
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the subject: %v: %s", err, text)
	}
	return out
}

// suite is one run on one place, in a namespace of its own.
type suite struct {
	Place
	client    kubernetes.Interface
	namespace string
	signaler  provider.Signaler // nil if the provider is none
	processes *processes        // nil if the provider tells none
}

// Run does every case, several side by side. The namespace is removed at the end.
func Run(t *testing.T, p Place) {
	s := newSuite(t, p)
	var together sync.WaitGroup // and not t.Parallel, which runs no more at a time than there are processors: cases only wait
	all := slices.Concat(cases, manners)
	room := make(chan struct{}, cmp.Or(p.Together, len(all)))
	for _, c := range all {
		together.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			t.Run(c.name, func(t *testing.T) {
				if c.signals && s.signaler == nil {
					t.Skip("the provider can't signal a process")
				}
				if c.bare && s.Namespace != "" {
					t.Skip("the rights of one namespace do not allow it")
				}
				c.run(&pods{T: t, suite: s})
			})
		})
	}
	together.Wait()
}

func newSuite(t *testing.T, p Place) *suite {
	t.Helper()
	if p.Image == "" {
		p.Image = Image
	}
	p.Config = rest.CopyConfig(p.Config)
	p.Config.QPS, p.Config.Burst = -1, 0 // an instrument must not wait for its own rate limiter
	client, err := kubernetes.NewForConfig(p.Config)
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{Place: p, client: client, namespace: p.Namespace}
	s.signaler, _ = p.Provider.(provider.Signaler)
	if s.Namespace == "" {
		s.makeNamespace(t)
	}
	s.awaitAccount(t)
	if watcher, ok := p.Provider.(provider.ProcessWatcher); ok {
		s.processes = watch(t, watcher, p.Cluster, s.namespace)
	}
	return s
}

// makeNamespace makes the suite's own, which is removed at the end.
func (s *suite) makeNamespace(t *testing.T) {
	t.Helper()
	made, err := s.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "providertest-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.namespace = made.Name
	t.Cleanup(func() { s.remove(t) })
}

// awaitAccount waits for the service account that every pod needs.
func (s *suite) awaitAccount(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if _, err := s.client.CoreV1().ServiceAccounts(s.namespace).Get(t.Context(), "default", metav1.GetOptions{}); err == nil {
			return
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func (s *suite) remove(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	now := int64(0)
	s.client.CoreV1().Pods(s.namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{})
	if err := s.client.CoreV1().Namespaces().Delete(ctx, s.namespace, metav1.DeleteOptions{}); err != nil {
		t.Errorf("remove the suite's namespace: %v", err)
	}
}

// figures is where measured figures go beside the test's log, one a line; see docs/providers.md.
const figures = "PROVIDERTEST_FIGURES"

var figuresMu sync.Mutex

// figure notes a measured time.
func (p *pods) figure(what string, d time.Duration) {
	p.Helper()
	p.Logf("figure: %s %.3f s", what, d.Seconds())
	path := os.Getenv(figures)
	if path == "" {
		return
	}
	figuresMu.Lock()
	defer figuresMu.Unlock()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		p.Fatal(err)
	}
	defer f.Close()
	fmt.Fprintf(f, "%s\t%.3f\n", what, d.Seconds())
}
