package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"academy.example/lab/labctl/cluster/internal/apiserver"
	"academy.example/lab/labctl/cluster/internal/controllers"
	"academy.example/lab/labctl/cluster/internal/etcd"
	"academy.example/lab/labctl/cluster/internal/lean"
	"academy.example/lab/labctl/cluster/internal/pki"
	"academy.example/lab/labctl/cluster/internal/supervise"
)

// The node gets this long to kill its pods when the supervisor has vanished; the others end at once.
const nodeGrace = 1500 * time.Millisecond

// settle makes a process small once its part of the start is over. The API server is busy longest, with publishing
// its schemas, and has by far the largest heap.
func settle(ctx context.Context, name string) {
	if name == "apiserver" {
		lean.Settle(ctx, 5*time.Second, 30)
		return
	}
	lean.Settle(ctx, 3*time.Second, 50)
}

// child runs one of the supervisor's children.
func child(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("child: name missing")
	}
	name := args[0]
	o, err := parse("child", args[1:])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	err = supervise.WatchParent(func() {
		if name == "node" {
			cancel()
			time.Sleep(nodeGrace)
		}
		os.Exit(exitFailed)
	})
	if err != nil {
		return fmt.Errorf("child %s: %w", name, err)
	}
	go settle(ctx, name)
	files := pki.In(filepath.Join(o.state, "pki"))
	if name == "apiserver" {
		// It handles signals itself.
		return apiserver.Run(apiserver.Config{Port: o.port, EtcdSocket: etcdSocket(o.sockets), Files: files,
			AuditLog: auditLog(o.state), AuditPolicyFile: filepath.Join(o.state, "audit-policy.yaml")})
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	switch name {
	case "etcd":
		return etcd.Run(ctx, etcd.Config{Dir: filepath.Join(o.state, "etcd"), Socket: etcdSocket(o.sockets)})
	case "controllers":
		return runControllers(ctx, o, files)
	case "node":
		return runNode(ctx, o, files)
	}
	return fmt.Errorf("child: unknown name %q", name)
}

func etcdSocket(sockets string) string { return filepath.Join(sockets, "etcd.sock") }

// auditLog is where the API server logs the requests on Leases.
func auditLog(state string) string { return filepath.Join(state, "log", "audit.jsonl") }

func kubeconfigOf(o options, child string) string {
	return filepath.Join(o.state, "pki", child+".kubeconfig")
}

func runControllers(ctx context.Context, o options, files pki.Files) error {
	prober, err := apiserver.NewProber(o.server(), files.CA.Cert, files.Control)
	if err != nil {
		return err
	}
	err = controllers.Run(ctx, controllers.Config{Kubeconfig: kubeconfigOf(o, "controllers"), Prober: prober})
	if ctx.Err() != nil {
		return nil // asked to end
	}
	return err
}
