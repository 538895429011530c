// Package controllers runs the few controllers that a lab needs, and the binder, in one process.
package controllers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"academy.example/lab/labctl/cluster/internal/apiserver"
)

// Workers that a controller gets; a lab holds a handful of objects.
const workers = 2

// Informers list again this seldom; watches keep them current.
const resync = 12 * time.Hour

// Config says how to reach the API server.
type Config struct {
	Kubeconfig string // credentials of system:masters
	Prober     *apiserver.Prober
}

type set struct {
	config  *rest.Config
	client  kubernetes.Interface
	meta    metadata.Interface
	mapper  meta.ResettableRESTMapper
	factory informers.SharedInformerFactory // of what starts first
	rest    informers.SharedInformerFactory // of all else
}

// Run waits for the API server and runs all controllers until ctx ends. What a deployment needs to become running
// pods starts at once; the rest starts when every readiness check passes, so that it does not slow the first pods.
func Run(ctx context.Context, cfg Config) error {
	if err := cfg.Prober.WaitEarly(ctx); err != nil {
		return err
	}
	s, err := newSet(cfg.Kubeconfig)
	if err != nil {
		return fmt.Errorf("start controllers: %w", err)
	}
	if err := s.startFirst(ctx); err != nil {
		return fmt.Errorf("start controllers: %w", err)
	}
	if err := cfg.Prober.WaitFull(ctx); err != nil {
		return err
	}
	cfg.Prober.Close()
	if err := s.startRest(ctx); err != nil {
		return fmt.Errorf("start controllers: %w", err)
	}
	<-ctx.Done()
	return nil
}

func newSet(kubeconfig string) (*set, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	config.QPS = -1 // no limit: the API server is on this host and serves this lab alone
	config.UserAgent = "academy-controllers"
	metaClient, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	typed := rest.CopyConfig(config)
	typed.ContentType = "application/vnd.kubernetes.protobuf"
	typed.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(typed)
	if err != nil {
		return nil, err
	}
	return &set{
		config: config, client: client, meta: metaClient,
		mapper:  restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery())),
		factory: informers.NewSharedInformerFactoryWithOptions(client, resync, informers.WithTransform(dropManagedFields)),
		rest:    informers.NewSharedInformerFactoryWithOptions(client, resync, informers.WithTransform(dropManagedFields)),
	}, nil
}

// dropManagedFields keeps the caches small; no controller here reads field ownership.
func dropManagedFields(obj any) (any, error) {
	if object, err := meta.Accessor(obj); err == nil {
		object.SetManagedFields(nil)
	}
	return obj, nil
}
