package kind

import (
	"context"
	"fmt"
	"io"

	kindcluster "sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/image"
	"academy.example/lab/operator/api"
)

// load puts images into the worker, where pods run, unless it has them: the operator's, and those of the Spec.
func (m *making) load(ctx context.Context) error {
	program, err := m.provider.program()
	if err != nil {
		return err
	}
	if err := m.loadOne(ctx, api.DefaultImage, program); err != nil {
		return err
	}
	for base, path := range m.spec.Images {
		if err := m.loadOne(ctx, base+":lab", path); err != nil {
			return err
		}
	}
	return nil
}

func (m *making) loadOne(ctx context.Context, ref, program string) error {
	made, err := image.New(ref, program)
	if err != nil {
		return err
	}
	kind := kindcluster.NewProvider(kindcluster.ProviderWithDocker())
	nodes, err := kind.ListNodes(m.cluster)
	if err != nil {
		return fmt.Errorf("find the worker node: %w", err)
	}
	workers, err := nodeutils.SelectNodesByRole(nodes, "worker")
	if err != nil {
		return fmt.Errorf("find the worker node: %w", err)
	}
	for _, node := range workers {
		if id, err := nodeutils.ImageID(node, ref); err == nil && id == made.ID() {
			continue
		}
		m.say("loading the image " + ref + " into " + node.String())
		archive, write := io.Pipe()
		go func() { write.CloseWithError(made.WriteDocker(write)) }()
		if err := nodeutils.LoadImageArchive(node, archive); err != nil {
			return &provider.Problem{Err: fmt.Errorf("load the image %s into %s: %w", ref, node, err), Hint: "labctl doctor"}
		}
	}
	return ctx.Err()
}
