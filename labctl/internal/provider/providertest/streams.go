package providertest

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"

	"academy.example/lab/labctl/internal/provider"
)

func execute(p *pods) {
	pod, _ := p.running("exec", polite)
	request := p.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(p.namespace).Name(pod.Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: []string{"/subject", "say", "one", "two words"}, Stdout: true, Stderr: true}, scheme.ParameterCodec)
	executor, err := remotecommand.NewSPDYExecutor(p.Config, "POST", request.URL())
	if err != nil {
		p.Fatal(err)
	}
	var out, errs bytes.Buffer
	err = executor.StreamWithContext(p.Context(), remotecommand.StreamOptions{Stdout: &out, Stderr: &errs})
	var exit utilexec.CodeExitError
	if !errors.As(err, &exit) || exit.Code != 3 || !bytes.HasSuffix(out.Bytes(), []byte("one\ntwo words\n")) {
		p.Errorf("got %q, %v; want the words and exit code 3", out.String()+errs.String(), err)
	}
}

// requests checks an Auditor; a provider that is none has nothing to tell.
func requests(p *pods) {
	auditor, ok := p.Provider.(provider.Auditor)
	if !ok {
		p.Skip("the provider tells no requests")
	}
	ctx, cancel := context.WithTimeout(p.Context(), patience)
	defer cancel()
	ready, ended := make(chan struct{}), make(chan error, 1)
	var mu sync.Mutex
	got := map[string]provider.LeaseRequest{}
	go func() {
		ended <- auditor.WatchRequests(ctx, p.Cluster, func() { close(ready) }, func(r provider.LeaseRequest) {
			mu.Lock()
			defer mu.Unlock()
			if r.Namespace == p.namespace && r.Lease == "asked" {
				got[r.Verb] = r
			}
			if len(got) == 3 {
				cancel()
			}
		})
	}()
	select {
	case <-ready:
	case err := <-ended:
		p.Fatal(err)
	}
	leases := p.client.CoordinationV1().Leases(p.namespace)
	before := time.Now()
	lease, err := leases.Create(p.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "asked"}}, metav1.CreateOptions{})
	if err != nil {
		p.Fatal(err)
	}
	_, err1 := leases.Get(p.Context(), "asked", metav1.GetOptions{})
	_, err2 := leases.Update(p.Context(), lease, metav1.UpdateOptions{})
	if err := errors.Join(err1, err2); err != nil {
		p.Fatal(err)
	}
	<-ended
	mu.Lock()
	defer mu.Unlock()
	for verb, code := range map[string]int{"create": 201, "get": 200, "update": 200} {
		r := got[verb]
		if r.Code != code || r.Pod != "" || r.Received.Before(before.Add(-time.Second)) || r.Answered.Before(r.Received) {
			p.Errorf("%s: got %+v", verb, r)
		}
	}
}
