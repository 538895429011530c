package controllers

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/tools/record"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/controller/tainteviction"

	"academy.example/lab/labctl/cluster/internal/binder"
)

const (
	// How often new resource types are looked for, and how long their first listing may take.
	collectorSync  = 30 * time.Second
	rootCAName     = "kube-root-ca.crt"
	rootCAResync   = resync
	metadataResync = resync
)

// startFirst starts what leads from a deployment to a bound pod.
func (s *set) startFirst(ctx context.Context) error {
	apps, core := s.factory.Apps().V1(), s.factory.Core().V1()
	deployments, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(), core.Pods(), s.client)
	if err != nil {
		return err
	}
	replicaSets := replicaset.NewReplicaSetController(ctx, apps.ReplicaSets(), core.Pods(), s.client, replicaset.BurstReplicas)
	accounts, err := serviceaccount.NewServiceAccountsController(klog.FromContext(ctx), core.ServiceAccounts(), core.Namespaces(), s.client,
		serviceaccount.DefaultServiceAccountsControllerOptions())
	if err != nil {
		return err
	}
	events := record.NewBroadcaster(record.WithContext(ctx))
	events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: s.client.CoreV1().Events("")})
	recorder := events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: binder.Component})
	pods, err := binder.New(s.client, recorder, core.Pods(), core.Nodes())
	if err != nil {
		return err
	}
	s.factory.Start(ctx.Done())
	go deployments.Run(ctx, workers)
	go replicaSets.Run(ctx, workers)
	go accounts.Run(ctx, 1)
	go pods.Run(ctx)
	return nil
}

// startRest starts what the first pods do not wait for. It has informers of its own: the controllers register with them before
// they are made whole, as kube-controller-manager starts no informer before the last controller is there; with one that runs
// already, the disruption controller has met a pod before it had a lister, and brought the process down.
func (s *set) startRest(ctx context.Context) error {
	core := s.rest.Core().V1()
	jobs, err := job.NewController(ctx, s.client, core.Pods(), s.rest.Batch().V1().Jobs(), nil, nil)
	if err != nil {
		return err
	}
	evictions, err := s.newEviction(ctx)
	if err != nil {
		return err
	}
	disruptions, err := s.newDisruption(ctx)
	if err != nil {
		return err
	}
	namespaces := namespace.NewNamespaceController(ctx, s.client, s.meta, s.client.Discovery().ServerPreferredNamespacedResources,
		core.Namespaces(), resync, corev1.FinalizerKubernetes)
	// Of all config maps only the one that it publishes is watched.
	rootCAs := informers.NewSharedInformerFactoryWithOptions(s.client, rootCAResync, informers.WithTransform(dropManagedFields),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = "metadata.name=" + rootCAName }))
	publisher, err := rootcacertpublisher.NewPublisher(rootCAs.Core().V1().ConfigMaps(), core.Namespaces(), s.client, s.config.CAData)
	if err != nil {
		return err
	}
	informersStarted := make(chan struct{})
	metadataInformers := metadatainformer.NewSharedInformerFactoryWithOptions(s.meta, metadataResync, metadatainformer.WithTransform(dropManagedFields))
	collector, err := garbagecollector.NewGarbageCollector(ctx, s.client, s.meta, s.mapper, garbagecollector.DefaultIgnoredResources(),
		informerfactory.NewInformerFactory(s.rest, metadataInformers), informersStarted)
	if err != nil {
		return err
	}
	s.rest.Start(ctx.Done())
	rootCAs.Start(ctx.Done())
	metadataInformers.Start(ctx.Done())
	close(informersStarted)
	go jobs.Run(ctx, workers)
	go evictions.Run(ctx)
	go disruptions.Run(ctx, 1)
	go namespaces.Run(ctx, workers)
	go publisher.Run(ctx, 1)
	go collector.Run(ctx, workers, collectorSync)
	go collector.Sync(ctx, s.client.Discovery(), collectorSync)
	return nil
}

// newEviction makes the controller that deletes pods from a node with a taint NoExecute which they do not tolerate.
func (s *set) newEviction(ctx context.Context) (*tainteviction.Controller, error) {
	core := s.factory.Core().V1()
	if err := controller.AddPodNodeNameIndexer(core.Pods().Informer()); err != nil {
		return nil, err
	}
	return tainteviction.New(ctx, s.client, core.Pods(), core.Nodes(), "taint-eviction-controller")
}

func (s *set) newDisruption(ctx context.Context) (*disruption.DisruptionController, error) {
	scales, err := scale.NewForConfig(s.config, s.mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(s.client.Discovery()))
	if err != nil {
		return nil, err
	}
	apps, core := s.rest.Apps().V1(), s.rest.Core().V1()
	return disruption.NewDisruptionController(ctx, core.Pods(), s.rest.Policy().V1().PodDisruptionBudgets(), core.ReplicationControllers(),
		apps.ReplicaSets(), apps.Deployments(), apps.StatefulSets(), s.client, s.mapper, scales, s.client.Discovery()), nil
}
