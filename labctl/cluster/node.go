package main

import (
	"context"

	"academy.example/lab/labctl/cluster/internal/agent"
	"academy.example/lab/labctl/cluster/internal/pki"
)

func runNode(ctx context.Context, o options, files pki.Files) error {
	err := agent.Run(ctx, agent.Config{
		Kubeconfig: kubeconfigOf(o, "node"), StateDir: o.state, SocketDir: o.sockets, NodeName: nodeName,
		Images: o.images, StartLatency: o.startLatency,
		ServingCert: files.Node.Cert, ServingKey: files.Node.Key, ClientCA: files.NodeCA.Cert,
		APIServer: o.server(), APIServerCA: files.CA.Cert,
	})
	if ctx.Err() != nil {
		return nil // asked to end
	}
	return err
}
