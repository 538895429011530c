package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"academy.example/lab/labctl/cluster/internal/apiserver"
	"academy.example/lab/labctl/cluster/internal/pki"
	"academy.example/lab/labctl/cluster/internal/state"
	"academy.example/lab/labctl/cluster/internal/supervise"
)

// Restarts: quick, but a child that cannot live ends the cluster within seconds.
const (
	restartDelay = time.Second
	maxDeaths    = 5
	deathWindow  = time.Minute
	stopTimeout  = 2 * time.Second
)

// run is the supervisor: it returns after SIGTERM, SIGINT or SIGHUP, or when a child cannot be kept running.
func run(args []string) error {
	started := time.Now()
	o, err := parse("run", args)
	if err != nil {
		return err
	}
	// Every file and socket that this process and its children make is for the user alone.
	syscall.Umask(0o077)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	folder, err := state.Open(o.state, o.sockets, kubernetesVersion())
	if err != nil {
		return err
	}
	defer folder.Close()
	c := &cluster{options: o, folder: folder, started: started, log: log.New(os.Stdout, "", log.LstdFlags|log.Lmicroseconds)}
	return c.run(ctx)
}

type cluster struct {
	options options
	folder  *state.Folder
	files   pki.Files
	started time.Time
	log     *log.Logger
	sup     *supervise.Supervisor
}

func (c *cluster) run(ctx context.Context) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find own executable: %w", err)
	}
	if c.options.port, err = c.folder.Port(ctx); err != nil {
		return err
	}
	c.sup, err = supervise.New(supervise.Config{
		Executable: exe, RestartDelay: restartDelay, MaxDeaths: maxDeaths, DeathWindow: deathWindow, StopTimeout: stopTimeout,
		Changed: c.writeCluster, Logf: c.log.Printf,
	})
	if err != nil {
		return err
	}
	// Pods go first, while the API server can still be told, and etcd last.
	defer c.sup.Stop("node", "controllers", "apiserver", "etcd")
	if err := c.start(); err != nil {
		return err
	}
	c.log.Printf("cluster %s starts at %s", c.options.name, c.options.server())
	go c.announce(ctx)
	go settle(ctx, "supervisor")
	lost := make(chan struct{})
	go c.guardFolder(ctx, lost)
	select {
	case <-ctx.Done():
		c.log.Printf("cluster %s ends: signal received", c.options.name)
		return nil
	case <-lost:
		return fmt.Errorf("cluster %s ends: its state folder %s was removed", c.options.name, c.options.state)
	case err := <-c.sup.Failed():
		return c.explain(err)
	}
}

// guardFolder closes lost when the state folder is not this cluster's any more: nobody could find and end it then.
func (c *cluster) guardFolder(ctx context.Context, lost chan<- struct{}) {
	const every = 2 * time.Second
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if !c.folder.Held() {
				close(lost)
				return
			}
		}
	}
}

// start starts etcd first, as it needs no certificates, and makes those while etcd comes up.
func (c *cluster) start() error {
	if err := c.sup.Start(c.child("etcd")); err != nil {
		return err
	}
	files, err := pki.Ensure(c.folder.Path("pki"), pki.Config{NodeName: nodeName, ServiceIP: net.ParseIP(apiserver.ServiceIP), Now: time.Now()})
	if errors.Is(err, pki.ErrUnusable) {
		return &state.Problem{Err: err, Hint: "start afresh: rm -r " + c.options.state}
	}
	if err != nil {
		return err
	}
	c.files = files
	if err := c.sup.Start(c.child("apiserver")); err != nil {
		return err
	}
	name := "academy-" + c.options.name
	for path, user := range map[string]pki.Pair{
		c.folder.Path("kubeconfig"):            files.Admin,
		kubeconfigOf(c.options, "controllers"): files.Control,
		kubeconfigOf(c.options, "node"):        files.NodeUser,
	} {
		if err := state.WriteKubeconfig(path, name, c.options.server(), files.CA.Cert, user); err != nil {
			return err
		}
	}
	if err := c.sup.Start(c.child("controllers")); err != nil {
		return err
	}
	return c.sup.Start(c.child("node"))
}

func (c *cluster) child(name string) supervise.Child {
	return supervise.Child{
		Name: name,
		Args: append([]string{"child", name}, c.options.args()...),
		Env:  environment(),
		Log:  c.folder.Log(name),
	}
}

// environment is what a child gets to see: nothing of the user's but what finds programs and files.
func environment() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "TZ", "LANG"} {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func (c *cluster) writeCluster(pids map[string]int) {
	children := make(map[string]state.Child, len(pids))
	for name, pid := range pids {
		children[name] = state.Child{PID: pid}
	}
	err := c.folder.WriteCluster(state.Cluster{
		Schema: state.Schema, Name: c.options.name, PID: os.Getpid(), Server: c.options.server(), Kubeconfig: c.folder.Path("kubeconfig"),
		NodeSocket: c.folder.Socket("node.sock"), AuditLog: auditLog(c.options.state), PodStartLatencySeconds: c.options.startLatency.Seconds(), Kubernetes: kubernetesVersion(), Version: version(),
		StartedAt: c.started, Children: children,
	})
	if err != nil {
		c.log.Print("warning: ", err)
	}
}

// announce prints when the API can be used, and when its last readiness check passes.
func (c *cluster) announce(ctx context.Context) {
	prober, err := apiserver.NewProber(c.options.server(), c.files.CA.Cert, c.files.Admin)
	if err != nil {
		c.log.Print("warning: ", err)
		return
	}
	defer prober.Close()
	if prober.WaitEarly(ctx) != nil {
		return
	}
	c.log.Printf("the Kubernetes API answers after %.2f s: export KUBECONFIG=%s", time.Since(c.started).Seconds(), c.folder.Path("kubeconfig"))
	if prober.WaitFull(ctx) == nil {
		c.log.Printf("all readiness checks pass after %.2f s", time.Since(c.started).Seconds())
	}
}

// explain adds to a child's failure where to look and what to do.
func (c *cluster) explain(err error) error {
	var failed *supervise.FailedError
	if !errors.As(err, &failed) {
		return err
	}
	return &state.Problem{Err: err, Hint: fmt.Sprintf("read %s; if the data is damaged, start afresh: rm -r %s", c.folder.Log(failed.Child), c.options.state)}
}
