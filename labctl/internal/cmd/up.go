package cmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/embedded"
	"academy.example/lab/labctl/internal/provider/kind"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/manifests"
)

type upFlags struct {
	provider     string
	replicas     int
	startLatency time.Duration
	images       []string
	nodeImage    string
	existing     existingFlags
}

func (a *app) upCommand() *cobra.Command {
	var f upFlags
	c := &cobra.Command{
		Use:   "up",
		Short: "Make the lab: a control plane, the operator, a leader",
		Long:  "up makes a control plane, applies the operator's manifests and waits for a leader. A lab that is up stays as it is.",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return a.up(c, f) },
	}
	c.Flags().StringVar(&f.provider, "provider", "auto", "where the lab runs: auto, embedded, kind or existing")
	c.Flags().IntVar(&f.replicas, "replicas", 2, "replicas of the operator in a new lab")
	c.Flags().DurationVar(&f.startLatency, "pod-start-latency", embedded.DefaultPodStartLatency, "how long the node waits before it starts a pod, in a new lab")
	c.Flags().StringArrayVar(&f.images, "pod-image", nil, "NAME=PATH: pods of this image run the local program at PATH, in a new lab; may be repeated. On kind with the tag lab")
	c.Flags().StringVar(&f.nodeImage, "image", "", "on kind: the node image, in place of "+kind.DefaultImage)
	f.existing.add(c)
	return c
}

// upResult is what `up --json` prints.
type upResult struct {
	lab.Status
	Seconds float64 `json:"upSeconds"`
}

func (a *app) up(c *cobra.Command, f upFlags) error {
	if err := checkReplicas(f.replicas, "labctl up --replicas 2"); err != nil {
		return err
	}
	if f.startLatency < 0 || f.startLatency > time.Minute {
		return &provider.Problem{Err: fmt.Errorf("pod start latency %s is not between 0 and 1m", f.startLatency), Hint: "labctl up --pod-start-latency 1.2s"}
	}
	images, err := f.imageMap()
	if err != nil {
		return err
	}
	p, why, err := a.choose(c.Context(), f.provider)
	if err != nil {
		return err
	}
	if err := f.fits(c, p.Name()); err != nil {
		return err
	}
	fmt.Fprintf(a.streams.Err, "provider %s, %s\n", p.Name(), why)
	a.left = "labctl down"
	begun := time.Now()
	show := newProgress(a.streams.Err)
	defer show.Stop()
	l, err := lab.Up(c.Context(), p, provider.Spec{Name: a.name, PodStartLatency: f.startLatency, Images: images, NodeImage: f.nodeImage, Existing: f.existing.spec(c, a.ask(c, f.existing.yes)), Progress: show.Say}, manifests.FS, f.replicas)
	if err != nil {
		show.Stop()
		return err
	}
	if err := a.forNewLab(c, l.Cluster.Started); err != nil {
		show.Stop()
		return err
	}
	took := time.Since(begun)
	status, err := l.Status(c.Context())
	show.Stop()
	if err != nil {
		return err
	}
	status.Kind = "Up"
	if a.json {
		return report.JSON(a.streams.Out, upResult{Status: status, Seconds: took.Seconds()})
	}
	out := a.streams.Out
	if l.Cluster.Started {
		fmt.Fprintf(out, "lab %q is up after %.1f s: Kubernetes %s at %s\n", status.Name, took.Seconds(), status.Kubernetes, status.Server)
	} else {
		fmt.Fprintf(out, "lab %q was up already: Kubernetes %s at %s\n", status.Name, status.Kubernetes, status.Server)
		if c.Flags().Changed("replicas") {
			fmt.Fprintf(a.streams.Err, "note: --replicas is for a new lab and was not looked at; instead: %s\n", a.typed("labctl scale N"))
		}
	}
	a.printStatus(status)
	fmt.Fprintln(out, "\nnext:")
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintf(table, "  eval \"$(%s)\"\tuse kubectl with this lab\n", a.typed("labctl env"))
	fmt.Fprintf(table, "  %s\t%s\n", a.typed(status.Next()), nextMeans(status.Next()))
	fmt.Fprintf(table, "  %s\tremove the lab\n", a.typed("labctl down"))
	return table.Flush()
}

// forNewLab refuses flags that decide what a lab's pods run and how: one that was up already goes on with what it was made with.
func (a *app) forNewLab(c *cobra.Command, fresh bool) error {
	for _, flag := range []string{"pod-start-latency", "pod-image"} {
		if c.Flags().Changed(flag) && !fresh {
			return &provider.Problem{Err: fmt.Errorf("--%s is for a new lab, and lab %q was up already: its pods go on with what it was made with", flag, a.name), Hint: "labctl down && labctl up --" + flag + "=" + valueOf(c, flag)}
		}
	}
	return nil
}

// valueOf is a flag's value as it can be typed.
func valueOf(c *cobra.Command, flag string) string {
	if values, err := c.Flags().GetStringArray(flag); err == nil && len(values) > 0 {
		return shellWord(values[0])
	}
	return shellWord(c.Flag(flag).Value.String())
}

// fits refuses what the provider can't honour.
func (f upFlags) fits(c *cobra.Command, name string) error {
	switch {
	case name != "kind" && f.nodeImage != "":
		return &provider.Problem{Err: fmt.Errorf("--image names a node image, and nodes are containers on kind only, not on %s", name), Hint: "labctl up --provider kind --image " + f.nodeImage}
	case name == "kind" && c.Flags().Changed("pod-start-latency"):
		return &provider.Problem{Err: errors.New("--pod-start-latency is for the embedded node: on kind a real kubelet starts pods as soon as it can"), Hint: "labctl up --provider kind"}
	case name == "existing":
		return f.fitsExisting(c)
	}
	for _, flag := range existingOnly {
		if c.Flags().Changed(flag) {
			return &provider.Problem{Err: fmt.Errorf("--%s is for a cluster of your own, and the lab is on %s", flag, name), Hint: "labctl up --provider existing --context CONTEXT --operator-image IMAGE"}
		}
	}
	return nil
}

func (f upFlags) fitsExisting(c *cobra.Command) error {
	for _, flag := range []string{"pod-start-latency", "pod-image"} {
		if c.Flags().Changed(flag) {
			return &provider.Problem{Err: fmt.Errorf("--%s is for a node of the lab's own: on an existing cluster nodes pull images and start pods as they do", flag), Hint: "labctl up --provider existing --context CONTEXT --operator-image IMAGE"}
		}
	}
	return nil
}

func nextMeans(next string) string {
	switch next {
	case "labctl failover --force":
		return "take the leader away and time it"
	case "labctl status":
		return "see whether somebody leads by now"
	default:
		return "give the operator two replicas"
	}
}

// maxReplicas keeps a typing error from filling the machine.
const maxReplicas = 50

func checkReplicas(n int, hint string) error {
	if n < 0 || n > maxReplicas {
		return &provider.Problem{Err: fmt.Errorf("%d is not a number of replicas between 0 and %d", n, maxReplicas), Hint: hint}
	}
	return nil
}

// imageMap reads --pod-image. A path must lead to a program.
func (f upFlags) imageMap() (map[string]string, error) {
	images := map[string]string{}
	for _, value := range f.images {
		wrong := func(format string, args ...any) error {
			return &provider.Problem{Err: fmt.Errorf("--pod-image %q: "+format, append([]any{value}, args...)...), Hint: "labctl up --pod-image example.com/my-operator=./bin/my-operator"}
		}
		name, path, found := strings.Cut(value, "=")
		if !found || name == "" || path == "" {
			return nil, wrong("want NAME=PATH")
		}
		if at := strings.LastIndex(name, ":"); at > strings.LastIndex(name, "/") {
			return nil, wrong("give the image's name without its tag, %s", name[:at])
		}
		absolute, err := filepath.Abs(path)
		if err != nil {
			return nil, wrong("%w", err)
		}
		info, err := os.Stat(absolute)
		if err != nil {
			return nil, wrong("%w", err)
		}
		if info.IsDir() || info.Mode()&0o111 == 0 {
			return nil, wrong("%s is not a program", absolute)
		}
		images[name] = absolute
	}
	return images, nil
}
