package apiserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/cluster/internal/pki"
)

// serve runs an API server's health endpoint with real certificates; only a client with one of its own is answered.
func serve(t *testing.T, handler http.HandlerFunc) *Prober {
	t.Helper()
	files, err := pki.Ensure(filepath.Join(t.TempDir(), "pki"), pki.Config{NodeName: "n", ServiceIP: net.ParseIP(ServiceIP), Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(files.API.Cert, files.API.Key)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(files.CA.Cert)
	if err != nil {
		t.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(ca)
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)
	prober, err := NewProber(server.URL, files.CA.Cert, files.Admin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(prober.Close)
	return prober
}

func TestEarlyDoesNotWaitForBootstrapRoles(t *testing.T) {
	asked := 0
	prober := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		excluded := r.URL.Query()["exclude"]
		if asked < 3 || r.URL.Path != "/readyz" || len(excluded) != 2 || excluded[0] != "poststarthook/rbac/bootstrap-roles" {
			http.Error(w, "[-]poststarthook/rbac/bootstrap-roles failed", http.StatusInternalServerError)
		}
	})
	if err := prober.WaitEarly(t.Context()); err != nil {
		t.Error(err)
	}
	if asked != 3 {
		t.Errorf("asked %d times, want 3", asked)
	}
}

func TestWaitEndsWithItsContextAndTellsTheLastAnswer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	prober := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		defer cancel()
		http.Error(w, "[-]etcd failed", http.StatusInternalServerError)
	})
	err := prober.WaitFull(ctx)
	if !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "wait for the Kubernetes API") {
		t.Errorf("got %v", err)
	}
}

func TestFlagsNameTheFilesAndStayOnLoopback(t *testing.T) {
	flags := strings.Join(Flags(Config{Port: 6443, EtcdSocket: "/s/etcd.sock", Files: pki.In("/pki")}), " ")
	for _, want := range []string{
		"--secure-port=6443 ", "--bind-address=127.0.0.1 ", "--etcd-servers=unix:///s/etcd.sock ", "--authorization-mode=RBAC ",
		"--feature-gates=CoordinatedLeaderElection=true ", "--runtime-config=coordination.k8s.io/v1beta1=true ", "--anonymous-auth=false ", "--service-account-extend-token-expiration=false ",
		"--client-ca-file=/pki/ca.crt ", "--kubelet-client-certificate=/pki/kubelet-client.crt ", "--service-account-key-file=/pki/sa.pub ",
	} {
		if !strings.Contains(flags, want) {
			t.Errorf("%q is missing in %s", want, flags)
		}
	}
}
