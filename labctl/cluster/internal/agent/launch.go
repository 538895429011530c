package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"

	"academy.example/lab/labctl/cluster/internal/process"
	"academy.example/lab/labctl/cluster/internal/relay"
)

// systemPath is what a pod's PATH holds after its own folder with the program of its image.
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// launch is a start that is ready to happen.
type launch struct {
	spec   process.Spec // without the outputs
	binary string       // the program that stands for the image
}

// imageName is the image without tag and digest.
func imageName(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		image = image[:colon]
	}
	return image
}

func (n *node) binaryOf(image string) (string, error) {
	if binary, known := n.cfg.Images[imageName(image)]; known {
		return binary, nil
	}
	names := strings.Join(slices.Sorted(maps.Keys(n.cfg.Images)), ", ")
	return "", &refusal{reasonNoImage, fmt.Sprintf(
		"Container image %q is not present: this node runs local programs, no images are pulled; it knows %s", image, names)}
}

// equip gives the pod its folders, its relay and its credentials, and keeps the token fresh until ctx ends.
func (w *worker) equip(ctx context.Context, pod *corev1.Pod) {
	var r *relay.Relay
	err := w.node.retry(ctx, "prepare pod "+pod.Namespace+"/"+pod.Name, func() (err error) {
		for _, dir := range []string{w.binDir(), w.workDir(), w.accountDir(), w.temp} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
		}
		if r == nil {
			r, err = relay.Listen(w.node.upstream)
		}
		return err
	})
	if r != nil {
		context.AfterFunc(w.life, r.Close)
	}
	if err != nil {
		return
	}
	ready := func() { w.send(equipped{&gear{relay: r}}) }
	if !wantsToken(pod) {
		ready()
		return
	}
	keeper := tokenKeeper{node: w.node, pod: pod, dir: w.accountDir()}
	config := w.kubeconfig(pod, r.Port())
	keeper.run(ctx, func() error { return process.WriteFile(w.kubeconfigPath(), config) }, ready)
}

func (w *worker) binDir() string         { return filepath.Join(w.dir, "bin") }
func (w *worker) workDir() string        { return filepath.Join(w.dir, "work") }
func (w *worker) accountDir() string     { return filepath.Join(w.dir, "serviceaccount") }
func (w *worker) kubeconfigPath() string { return filepath.Join(w.dir, "kubeconfig") }

// kubeconfig lets the pod's program find the API server through the pod's own relay; JSON is YAML too.
func (w *worker) kubeconfig(pod *corev1.Pod, port int) []byte {
	type named map[string]any
	config := named{
		"apiVersion": "v1", "kind": "Config", "current-context": "pod",
		"clusters": []named{{"name": "pod", "cluster": named{
			"server": fmt.Sprintf("https://127.0.0.1:%d", port), "certificate-authority-data": w.node.ca,
		}}},
		"users":    []named{{"name": "pod", "user": named{"tokenFile": filepath.Join(w.accountDir(), "token")}}},
		"contexts": []named{{"name": "pod", "context": named{"cluster": "pod", "user": "pod", "namespace": pod.Namespace}}},
	}
	data, err := json.Marshal(config)
	if err != nil {
		panic(err) // strings, numbers and bytes always marshal
	}
	return data
}

// prepareLaunch works out what to run for a container, as a kubelet does for an image whose entry point is the binary.
func (w *worker) prepareLaunch(ctx context.Context, pod *corev1.Pod, c *corev1.Container) (*launch, error) {
	binary, err := w.node.binaryOf(c.Image)
	if err != nil {
		return nil, err
	}
	link := filepath.Join(w.binDir(), filepath.Base(binary))
	if err := os.Symlink(binary, link); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("link program of image: %w", err)
	}
	variables, err := w.environment(ctx, pod, c)
	if err != nil {
		return nil, err
	}
	l := &launch{binary: binary, spec: process.Spec{Dir: w.workDir(), Env: variables.list()}}
	if c.WorkingDir != "" {
		l.spec.Dir = c.WorkingDir
	}
	line := slices.Concat(c.Command, c.Args)
	mapping := expansion.MappingFuncFor(variables.declared())
	for i := range line {
		line[i] = expansion.Expand(line[i], mapping)
	}
	if len(c.Command) == 0 {
		l.spec.Path, l.spec.Args = binary, line
		return l, nil
	}
	l.spec.Args = line[1:]
	// An unknown program is found out at the start, as with any container runtime.
	l.spec.Path = l.find(line[0])
	return l, nil
}

// find is the path of a program for the pod: the one of its image by any path, others by the pod's PATH.
func (l *launch) find(name string) string {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(l.spec.Dir, name)
		}
		if _, err := os.Stat(name); err != nil && filepath.Base(name) == filepath.Base(l.binary) {
			return l.binary
		}
		return name
	}
	path := ""
	for _, entry := range l.spec.Env {
		if value, is := strings.CutPrefix(entry, "PATH="); is {
			path = value
		}
	}
	for _, dir := range filepath.SplitList(path) {
		candidate := filepath.Join(dir, name)
		if info, err := os.Stat(candidate); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return candidate
		}
	}
	return name
}

func hostPort(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", fmt.Errorf("read API server address: %w", err)
	}
	if u.Scheme != "https" || u.Port() == "" {
		return "", fmt.Errorf("read API server address: %q is not https://HOST:PORT", server)
	}
	return u.Host, nil
}
