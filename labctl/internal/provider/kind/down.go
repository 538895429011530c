package kind

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/home"
)

// lostLimit bounds the look for containers of a lab whose folder is gone.
const lostLimit = 3 * time.Second

// Down removes the cluster's containers, their volumes and the lab's folder. A cluster that is not there is no error.
// The network `kind`, which all kind clusters share, stays.
func (p *Provider) Down(ctx context.Context, lab string, say func(string)) (found bool, err error) {
	at, err := home.New(lab)
	if err != nil {
		return false, err
	}
	cluster := clusterOf(lab)
	owner, err := at.Owner()
	if err != nil {
		return false, err
	}
	if owner != name {
		return p.downLost(ctx, at, cluster, say)
	}
	release, err := home.Guard(ctx, at.Lock, func() { say("another labctl is changing this lab; waiting for it") })
	if err != nil {
		return true, err
	}
	defer func() {
		release()
		at.Leave()
	}()
	p.closeShells()
	if _, err := exec.LookPath("docker"); err != nil {
		return true, &provider.Problem{Err: fmt.Errorf("lab %s is on kind, and the program docker is not on PATH", lab), Hint: "sudo apt-get install docker.io"}
	}
	present, err := containers(ctx, cluster)
	if err != nil {
		return true, explain(err)
	}
	if err := own(at, cluster, present); err != nil {
		return true, err
	}
	if err := sweep(ctx, cluster, say); err != nil {
		return true, explain(err)
	}
	if err := at.Remove(); err != nil {
		return true, fmt.Errorf("remove lab %s: %w", lab, err)
	}
	return true, nil
}

// downLost removes containers of this lab whose folder is gone: they still name it. Without Docker there are none.
func (p *Provider) downLost(ctx context.Context, at home.Home, cluster string, say func(string)) (bool, error) {
	if _, err := exec.LookPath("docker"); err != nil {
		return false, nil
	}
	asking, cancel := context.WithTimeout(ctx, lostLimit)
	defer cancel()
	present, err := containers(asking, cluster)
	if err != nil || len(present) == 0 || own(at, cluster, present) != nil {
		return false, ctx.Err() // none, or nobody knows, or not ours
	}
	return true, sweep(ctx, cluster, say)
}
