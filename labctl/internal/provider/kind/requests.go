package kind

import (
	"context"
	"fmt"
	"io"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/audit"
)

// WatchRequests follows the API server's audit log from its present end on.
func (p *Provider) WatchRequests(ctx context.Context, cluster provider.Cluster, ready func(), on func(provider.LeaseRequest)) error {
	// The first line is tail's own: it has the file open, at its end.
	err := follow(ctx, controlPlane(clusterOf(cluster.Name)), "tail -v -n0 -F "+auditLog+" 2>/dev/null", func(out io.Reader) error {
		return eachLine(out, func(line string) error { return parseRequest(line, &ready, on) })
	})
	return fmt.Errorf("follow the audit log: %w", err)
}

// parseRequest takes a line: tail's heading, or the server's.
func parseRequest(line string, ready *func(), on func(provider.LeaseRequest)) error {
	switch {
	case line == "":
	case line == "==> "+auditLog+" <==":
		(*ready)()
		*ready = func() {}
	default:
		request, finished, err := audit.Parse([]byte(line))
		if err != nil {
			return err
		}
		if finished {
			on(request)
		}
	}
	return nil
}
