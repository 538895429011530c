// Package provider owns what a place to run the lab must offer: it comes up, it can be found again, it goes away.
package provider

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// DefaultLab is the name of the lab when no --name is given.
const DefaultLab = "lab"

// CheckName refuses a name that can't be used for folders and Kubernetes contexts alike.
func CheckName(name string) error {
	if regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?$`).MatchString(name) {
		return nil
	}
	if len(name) > 60 {
		name = name[:60] + "…"
	}
	return fmt.Errorf("lab name %q is not valid: up to 32 of a-z, 0-9 and -, starting and ending with a letter or digit", name)
}

// ErrNoLab is returned by Find when no lab of that name runs.
var ErrNoLab = errors.New("no lab is running")

// ErrNotRunning is returned by Kill for a process that is not there (any more).
var ErrNotRunning = errors.New("the process is not running")

// Spec is what Up makes.
type Spec struct {
	// Name tells labs on one machine apart.
	Name string
	// PodStartLatency is how long the node waits before it starts a pod, as a real one does; 0 starts at once.
	PodStartLatency time.Duration
	// Images maps names of further images, without tag, to the absolute paths of local programs that stand for them.
	Images map[string]string
	// NodeImage is the container image of a node, where nodes are containers; empty takes the provider's own.
	NodeImage string
	// Existing says which cluster is used, by the provider that makes none.
	Existing Existing
	// Progress is told what is being waited for, in a few words. It may be nil.
	Progress func(string)
}

// Existing names a cluster that somebody else runs, and what of it is used.
type Existing struct {
	// Kubeconfig is a path; empty takes what kubectl would take.
	Kubeconfig string
	Context    string
	// Namespace is where all of the lab goes; NamespaceGiven is whether it was named by the user.
	Namespace      string
	NamespaceGiven bool
	// OperatorImage is what the cluster's nodes pull.
	OperatorImage string
	// Confirm is asked before a cluster that is not on this machine is changed for the first time; an error is a no.
	Confirm func(question string) error
}

// Cluster is a running control plane.
type Cluster struct {
	Name       string `json:"name"`
	Provider   string `json:"provider"`
	Server     string `json:"server"`
	Kubeconfig string `json:"kubeconfig"` // path; never the user's own
	Kubernetes string `json:"kubernetes"` // version
	// PodStartLatency is how long the node waits before it starts a pod.
	PodStartLatency time.Duration `json:"-"`
	StateDir        string        `json:"stateDir"`
	// Namespace is where the lab lives; "" for the one in the manifests, which the lab may make.
	Namespace string `json:"-"`
	// OperatorImage replaces the one in the manifests; "" keeps it.
	OperatorImage string `json:"-"`
	// SharedClock is whether the replicas, the node and the API server read this machine's clock.
	SharedClock bool `json:"-"`
	// Started is whether Up started it; false for one that was found running.
	Started bool `json:"-"`
}

// Config returns the client configuration for the cluster's administrator.
func (c Cluster) Config() (*rest.Config, error) {
	config, err := ReadConfig(c.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig of lab %s: %w", c.Name, err)
	}
	config.QPS, config.Burst = 200, 400 // an instrument must not wait for its own rate limiter
	config.UserAgent = "labctl"
	return config, nil
}

// ReadConfig reads one kubeconfig file, and nothing else: no environment, no in-cluster configuration.
func ReadConfig(path string) (*rest.Config, error) {
	file, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return nil, err
	}
	return clientcmd.NewDefaultClientConfig(*file, nil).ClientConfig()
}

// Provider is a place to run. Extra abilities are extra interfaces: Signaler, ProcessWatcher, Auditor, NodeProber, Silencer,
// Slower, ServerStopper.
type Provider interface {
	// Name is the word that --provider takes.
	Name() string
	// Available returns nil, or why the provider can't be used here and what to do about it.
	Available(ctx context.Context) error
	// Examine looks at what the provider needs of this machine, one thing after the other, and stops where the next would be
	// pointless. lab is the lab's name, image the node image to look for; empty takes the provider's own.
	Examine(ctx context.Context, lab, image string) []Finding
	// Up makes the cluster or finds it running, and returns when its API server answers.
	Up(ctx context.Context, spec Spec) (Cluster, error)
	// Find returns a running cluster; the error wraps ErrNoLab if there is none.
	Find(ctx context.Context, name string) (Cluster, error)
	// Down ends the cluster and removes all of its state but the recorded runs; found is whether there was anything to
	// remove. A cluster that is not there is no error. say is told what is waited for.
	Down(ctx context.Context, name string, say func(string)) (found bool, err error)
}

// Finding is one thing that a provider needs of this machine.
type Finding struct {
	Name string // one word
	Good string // what was found, if nothing is wrong
	Err  error  // what is wrong, with a Problem's hint; nil if nothing is
	// Making is whether it is needed to make a lab, and not by one that is up.
	Making bool
}

// Exit is the end of a process.
type Exit struct {
	PID      int
	ExitCode int
}

// Signaler is a provider that can signal a pod's process on its node.
type Signaler interface {
	// Kill sends SIGKILL and returns when the process was reaped. The error wraps ErrNotRunning if there is none.
	Kill(ctx context.Context, cluster Cluster, podUID string) (Exit, error)
}

// ProcessEvent is the start or the end of a pod's process, as its node reports it.
type ProcessEvent struct {
	Started   bool
	UID       string
	Namespace string
	Pod       string
	PID       int
	Restarts  int
	ExitCode  int
	At        time.Time // when the node saw it, by its clock
}

// ProcessWatcher is a provider whose node reports starts and ends of processes as they happen.
type ProcessWatcher interface {
	// WatchProcesses calls on for each event until ctx ends or the stream breaks, which is an error.
	// It calls ready once, when no event can be missed any more.
	WatchProcesses(ctx context.Context, cluster Cluster, ready func(), on func(ProcessEvent)) error
}

// LeaseRequest is one finished request on a Lease, as the API server logged it.
type LeaseRequest struct {
	Namespace, Lease string
	Verb             string
	Code             int    // HTTP status
	Pod, PodUID      string // whose token it came with; "" for a user that is no pod
	// Received and Answered are the API server's clock.
	Received, Answered time.Time
}

// Auditor is a provider whose API server logs the requests on Leases.
type Auditor interface {
	// WatchRequests calls on for each request finished from now on until ctx ends or the stream breaks, which is an error.
	// It calls ready once, when none can be missed any more.
	WatchRequests(ctx context.Context, cluster Cluster, ready func(), on func(LeaseRequest)) error
}

// NodeProber is a provider whose node can be asked for a sign of life.
type NodeProber interface {
	// NodeProbe returns the question. It must not be asked twice at a time.
	NodeProbe(cluster Cluster) func(ctx context.Context) error
}

// PodRef is a pod on a node.
type PodRef struct{ UID, IP string }

// Silence is a way to keep a pod's process from being heard while it lives.
type Silence string

// The silences.
const (
	Freeze    Silence = "freeze"    // SIGSTOP
	Refuse    Silence = "refuse"    // its connections to the API server are reset, and no new one is made
	BlackHole Silence = "blackhole" // nothing passes between it and the API server, and nobody tells it
	Slow      Silence = "slow"      // what the API server answers arrives late; see Slower
)

// Silencer is a provider that can silence a pod's process. What it does ends by itself, whatever becomes of labctl.
type Silencer interface {
	// Silence returns when it is so. The error wraps ErrNotRunning if there is no such process.
	Silence(ctx context.Context, cluster Cluster, pod PodRef, how Silence, lasts time.Duration) error
	// Restore ends it. Nothing to end is no error.
	Restore(ctx context.Context, cluster Cluster, pod PodRef, how Silence) error
}

// Slower is a provider that can make the API server's answers to one pod late. Restore with Slow ends it, and it ends by itself.
type Slower interface {
	Silencer
	// Slow makes each answer latency late. The error wraps ErrNotRunning if there is no such process.
	Slow(ctx context.Context, cluster Cluster, pod PodRef, latency, lasts time.Duration) error
}

// ServerStopper is a provider that can stop its API server. That ends by itself, whatever becomes of labctl.
type ServerStopper interface {
	// StopServer returns when the API server answers nobody any more.
	StopServer(ctx context.Context, cluster Cluster, lasts time.Duration) error
	// ResumeServer ends it. Nothing to end is no error.
	ResumeServer(ctx context.Context, cluster Cluster) error
}
