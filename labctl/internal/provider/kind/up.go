package kind

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	kindcluster "sigs.k8s.io/kind/pkg/cluster"
	kindexec "sigs.k8s.io/kind/pkg/exec"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/home"
	"academy.example/lab/labctl/internal/whole"
)

const (
	pullLimit   = 15 * time.Minute
	createLimit = 10 * time.Minute
	// endLimit is how long an interrupted Create is waited for; it can't be told to stop.
	endLimit = 10 * time.Second
)

// making is one call of Up.
type making struct {
	provider *Provider
	spec     provider.Spec
	at       home.Home
	cluster  string
	image    string
	daemon   info
	say      func(string)
}

// Up makes the cluster, or finds it running, and returns when its API server answers and its worker has the operator's
// image. One that is stopped or half made is removed first.
func (p *Provider) Up(ctx context.Context, spec provider.Spec) (provider.Cluster, error) {
	at, err := home.New(spec.Name)
	if err != nil {
		return provider.Cluster{}, err
	}
	m := &making{provider: p, spec: spec, at: at, cluster: clusterOf(spec.Name), image: spec.NodeImage, say: spec.Progress}
	if m.say == nil {
		m.say = func(string) {}
	}
	if m.image == "" {
		m.image = DefaultImage
	}
	release, err := home.Guard(ctx, at.Lock, func() { m.say("another labctl is changing this lab; waiting for it") })
	if err != nil {
		return provider.Cluster{}, err
	}
	defer func() {
		release()
		at.Leave()
	}()
	if m.daemon, err = daemon(ctx); err != nil {
		return provider.Cluster{}, err
	}
	r, started, err := m.findOrMake(ctx)
	if err != nil {
		return provider.Cluster{}, err
	}
	if err := m.load(ctx); err != nil {
		return provider.Cluster{}, err
	}
	p.forget()
	c := r.cluster(at.State)
	c.Started = started
	return c, nil
}

// forget drops what Docker said of an earlier cluster of that name.
func (p *Provider) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.looked = time.Time{}
}

// findOrMake returns the record of a cluster that is there and answers, or of a new one.
func (m *making) findOrMake(ctx context.Context) (r record, started bool, err error) {
	found, err := containers(ctx, m.cluster)
	if err != nil {
		return record{}, false, explain(err)
	}
	if err := own(m.at, m.cluster, found); err != nil {
		return record{}, false, err
	}
	if err := m.at.Claim(name); err != nil {
		return record{}, false, err
	}
	if len(found) > 0 {
		r, why := m.healthy(ctx, found)
		if why == "" {
			return r, false, nil
		}
		m.say("the lab that is there can't be used (" + why + "); removing it")
		if err := sweep(ctx, m.cluster, m.say); err != nil {
			return record{}, false, explain(err)
		}
	}
	m.provider.closeShells()
	if err := m.prepare(ctx); err != nil {
		m.at.Remove() // nothing was made yet
		return record{}, false, err
	}
	if err := m.create(ctx); err != nil {
		return record{}, false, err
	}
	r, err = m.finish(ctx)
	return r, true, err
}

// healthy returns the record of a cluster that can be used as it is, or why it can't.
func (m *making) healthy(ctx context.Context, found []container) (record, string) {
	r, err := readRecord(m.at.State)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return r, "its start was interrupted"
	case err != nil:
		return r, err.Error()
	case !running(found):
		return r, "its containers are stopped"
	case m.spec.NodeImage != "" && r.Image != m.spec.NodeImage:
		return r, "its node image is " + short(r.Image)
	}
	m.say("waiting for the API server of the running lab (at most 20s)")
	if err := serverReady(ctx, r.Kubeconfig, 20*time.Second); err != nil {
		return r, "its API server does not answer"
	}
	return r, ""
}

// prepare checks what a new cluster needs, and fetches the node image.
func (m *making) prepare(ctx context.Context) error {
	for _, f := range []provider.Finding{memory(m.daemon), disk(m.daemon), inotify(m.daemon)} {
		if f.Err != nil {
			return f.Err
		}
	}
	removeAll(recordFile(m.at.State), m.scratch(), m.scratch()+".lock")
	if err := writeNodeFolder(m.at); err != nil {
		return err
	}
	there, err := present(ctx, m.image)
	if err != nil || there {
		return explain(err)
	}
	m.say(fmt.Sprintf("pulling the node image %s, once (at most %s)", short(m.image), pullLimit))
	if _, err := docker(ctx, pullLimit, "pull", "--quiet", m.image); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &provider.Problem{Err: fmt.Errorf("the node image %s is not on this machine and can't be pulled: %w", short(m.image), err),
			Hint: "labctl up --provider embedded"}
	}
	return nil
}

// scratch is the kubeconfig that Create insists on writing; the lab's own is written from what kind tells.
func (m *making) scratch() string { return filepath.Join(m.at.State, "kubeconfig.kind") }

// create runs kind. It returns ctx's error after an interrupt, when no container is left.
func (m *making) create(ctx context.Context) error {
	file, err := os.OpenFile(filepath.Join(m.at.State, "create.log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("open create.log: %w", err)
	}
	defer file.Close()
	logger := &steps{say: m.say, begun: time.Now(), file: file}
	kind := kindcluster.NewProvider(kindcluster.ProviderWithDocker(), kindcluster.ProviderWithLogger(logger))
	limited, cancel := context.WithTimeoutCause(ctx, createLimit, fmt.Errorf("kind made no cluster within %s", createLimit))
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- kind.Create(m.cluster, kindcluster.CreateWithV1Alpha4Config(configuration(m.at, m.daemon)),
			kindcluster.CreateWithNodeImage(m.image), kindcluster.CreateWithKubeconfigPath(m.scratch()), kindcluster.CreateWithRetain(false),
			kindcluster.CreateWithDisplayUsage(false), kindcluster.CreateWithDisplaySalutation(false))
	}()
	select {
	case err = <-ended:
	case <-limited.Done():
		m.abandon(ended)
		err = context.Cause(limited)
	}
	removeAll(m.scratch(), m.scratch()+".lock")
	switch {
	case ctx.Err() != nil:
		return errors.Join(ctx.Err(), m.undo(ctx))
	case err != nil:
		return m.failed(err, sweep(context.WithoutCancel(ctx), m.cluster, m.say))
	}
	return nil
}

// abandon waits a while for a Create that was given up. Taking its containers away makes it fail soon.
func (m *making) abandon(ended <-chan error) {
	m.say(fmt.Sprintf("interrupted; waiting for kind to stop (at most %s)", endLimit))
	limit := time.After(endLimit)
	for {
		if _, err := remove(context.Background(), m.cluster); err != nil {
			return // sweep tells
		}
		select {
		case <-ended:
			return
		case <-limit:
			return
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// undo removes all that an interrupted Up has made.
func (m *making) undo(ctx context.Context) error {
	m.say("interrupted; removing what was made")
	if err := sweep(context.WithoutCancel(ctx), m.cluster, m.say); err != nil {
		return explain(err)
	}
	return m.at.Remove()
}

// failed tells why kind failed: the last line of the command that did.
func (m *making) failed(err, swept error) error {
	if run := kindexec.RunErrorForError(err); run != nil && len(run.Output) > 0 {
		if output := strings.TrimSpace(string(run.Output)); output != "" {
			err = fmt.Errorf("%s (%s)", lastLine(output), strings.Join(run.Command[:min(2, len(run.Command))], " "))
		}
	}
	return &provider.Problem{Err: errors.Join(fmt.Errorf("kind could not make the cluster: %w", err), swept), Hint: "tail -n 40 " + filepath.Join(m.at.State, "create.log")}
}

// finish writes the lab's kubeconfig, waits for the nodes and writes the record.
func (m *making) finish(ctx context.Context) (record, error) {
	r := record{Schema: recordSchema, Name: m.spec.Name, Cluster: m.cluster, Image: m.image, SharedClock: native(m.daemon),
		Kubeconfig: filepath.Join(m.at.State, "kubeconfig")}
	err := m.complete(ctx, &r)
	if ctx.Err() != nil {
		return r, errors.Join(ctx.Err(), m.undo(ctx))
	}
	if err != nil {
		return r, m.failed(err, nil)
	}
	return r, r.write(m.at.State)
}

func (m *making) complete(ctx context.Context, r *record) error {
	m.say("waiting for the worker node (at most 2m)")
	kind := kindcluster.NewProvider(kindcluster.ProviderWithDocker())
	text, err := kind.KubeConfig(m.cluster, false)
	if err != nil {
		return fmt.Errorf("read the cluster's kubeconfig: %w", err)
	}
	if err := whole.Write(r.Kubeconfig, []byte(text), 0o600); err != nil {
		return err
	}
	config, err := provider.ReadConfig(r.Kubeconfig)
	if err != nil {
		return err
	}
	r.Server = config.Host
	if r.Kubernetes, err = nodesReady(ctx, r.Kubeconfig, 2*time.Minute); err != nil {
		return err
	}
	return nil
}
