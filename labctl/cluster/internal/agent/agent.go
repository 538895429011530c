// Package agent is the node of the lab's cluster: it runs the pods bound to it as local processes, with the manners of
// a kubelet.
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"

	"academy.example/lab/labctl/cluster/internal/process"
	"academy.example/lab/labctl/cluster/internal/streams"
)

// Config is what the agent is started with; all paths are absolute.
type Config struct {
	Kubeconfig   string            // the agent's own credentials
	StateDir     string            // pods live in StateDir/pods/UID
	SocketDir    string            // a short path, for node.sock and each pod's TMPDIR
	NodeName     string            // the name of the Node object
	Images       map[string]string // image name without tag → the local binary that stands for it
	StartLatency time.Duration     // a pod starts no sooner than this after it is bound
	ServingCert  string            // certificate of the kubelet API, for 127.0.0.1
	ServingKey   string            // its key
	ClientCA     string            // only clients with a certificate of this authority are served
	APIServer    string            // https://127.0.0.1:PORT, what the pods' relays connect to
	APIServerCA  string            // the authority of its certificate
}

// timing holds the waits that tests shorten.
type timing struct {
	backoff    process.Backoff
	minGrace   time.Duration // no stop is shorter
	exitGrace  time.Duration // what pods get when the agent itself ends
	retryFirst time.Duration
	retryMax   time.Duration
}

func kubeletTiming() timing {
	return timing{
		backoff:    process.KubeletBackoff(),
		minGrace:   2 * time.Second,
		exitGrace:  700 * time.Millisecond,
		retryFirst: 100 * time.Millisecond,
		retryMax:   2 * time.Second,
	}
}

// node is what all pods share.
type node struct {
	cfg      Config
	timing   timing
	client   kubernetes.Interface
	upstream string // host:port of the API server
	ca       []byte
	recorder record.EventRecorder
	log      *slog.Logger
	ips      *ipPool
	hub      *hub

	wg      sync.WaitGroup
	mu      sync.Mutex
	workers map[string]*worker // by pod UID
	swept   bool
}

// Run is the node until ctx ends; it returns once no pod process is left. An error says what could not be set up.
func Run(ctx context.Context, cfg Config) error {
	restConfig, err := clientcmd.BuildConfigFromFlags("", cfg.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read agent credentials: %w", err)
	}
	restConfig.QPS, restConfig.Burst = 50, 100
	restConfig.UserAgent = "academy-node-agent"
	restConfig.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(restConfig)
	if err != nil {
		return fmt.Errorf("build API client: %w", err)
	}
	n, err := newNode(cfg, client, kubeletTiming())
	if err != nil {
		return err
	}
	killed, err := process.Sweep(n.podsDir())
	if err != nil {
		return err
	}
	if killed > 0 {
		n.log.Warn("ended processes of an earlier life", "count", killed)
	}
	return n.run(ctx)
}

func newNode(cfg Config, client kubernetes.Interface, t timing) (*node, error) {
	upstream, err := hostPort(cfg.APIServer)
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(cfg.APIServerCA)
	if err != nil {
		return nil, fmt.Errorf("read API server authority: %w", err)
	}
	n := &node{
		cfg: cfg, timing: t, client: client, upstream: upstream, ca: ca,
		log:     slog.Default(),
		ips:     newIPPool(cfg.StateDir),
		hub:     newHub(),
		workers: map[string]*worker{},
	}
	for _, dir := range []string{n.podsDir(), n.tempDir()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make pod folder: %w", err)
		}
	}
	return n, nil
}

func (n *node) podsDir() string { return filepath.Join(n.cfg.StateDir, "pods") }
func (n *node) tempDir() string { return filepath.Join(n.cfg.SocketDir, "p") }

// run serves and works until ctx ends, then ends every pod.
func (n *node) run(ctx context.Context) error {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the kubelet API: %w", err)
	}
	files := streams.TLSFiles{Cert: n.cfg.ServingCert, Key: n.cfg.ServingKey, ClientCA: n.cfg.ClientCA}
	server, err := streams.NewServer(files, n.streamTarget)
	if err != nil {
		_ = listener.Close() // the first error is the one to tell
		return err
	}
	control, err := n.listenControl()
	if err != nil {
		_ = listener.Close() // the first error is the one to tell
		return err
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: n.client.CoreV1().Events("")})
	n.recorder = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "academy-node", Host: n.cfg.NodeName})

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	serve := func(what string, f func(context.Context) error) {
		n.wg.Go(func() {
			if err := f(ctx); err != nil && ctx.Err() == nil {
				cancel(fmt.Errorf("%s: %w", what, err))
			}
		})
	}
	serve("serve kubelet API", func(ctx context.Context) error { return server.Serve(ctx, listener) })
	serve("serve control socket", func(ctx context.Context) error { return n.serveControl(ctx, control) })
	if n.awaitAPI(ctx) == nil {
		port := listener.Addr().(*net.TCPAddr).Port
		n.wg.Go(func() { n.keepNode(ctx, port) })
		n.wg.Go(func() { n.watchPods(ctx) })
	}
	<-ctx.Done()
	n.wg.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// awaitAPI returns once the API server answers: a watch that begins with a refused connection would start late.
func (n *node) awaitAPI(ctx context.Context) error {
	for {
		_, err := n.client.CoreV1().Nodes().Get(ctx, n.cfg.NodeName, metav1.GetOptions{})
		if err == nil || apierrors.IsNotFound(err) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(30 * time.Millisecond):
		}
	}
}

// retry calls f until it returns nil or ctx ends, with waits that grow from timing.retryFirst to timing.retryMax.
func (n *node) retry(ctx context.Context, what string, f func() error) error {
	wait := n.timing.retryFirst
	for {
		err := f()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n.log.Warn("will try again", "action", what, "error", err, "wait", wait.String())
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
		wait = min(2*wait, n.timing.retryMax)
	}
}
