package cmd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/pulse"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/heartbeat"
)

type heartbeatFlags struct{ lease, run, runsDir string }

func (a *app) heartbeatCommand() *cobra.Command {
	var f heartbeatFlags
	c := &cobra.Command{
		Use:   "heartbeat [NAMESPACE/NAME]",
		Short: "Ask a Lease whether its leader is alive, as others read it",
		Long: "heartbeat reads a Lease of the lab's cluster once and judges it by three rules, in order: it has a holder; it has a renewTime and\n" +
			"a leaseDurationSeconds; renewTime is at most twice leaseDurationSeconds ago. Without a name it is the operator's own Lease.\n" +
			"The reasons are in the words of the adapter that the rules are for: the admission controller's Lease is the one that was named.\n\n" +
			"With --run it tells of a recorded run for how long nobody led, and for how long a reader would have been told no.\n\n" +
			"Exit code 0: yes; 1: no; 2: unknown, the Lease could not be read.",
		Example: "  labctl heartbeat\n  labctl heartbeat kube-system/kube-controller-manager\n  labctl heartbeat --run latest",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError{command: c.CommandPath(), err: fmt.Errorf("%s takes one Lease, not %d", c.CommandPath(), len(args))}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("run") {
				return a.heartbeatOfRun(c, f, args)
			}
			return a.heartbeat(c, f, args)
		},
	}
	c.Flags().StringVar(&f.lease, "lease", "", "NAMESPACE/NAME of the Lease; the same as the argument")
	c.Flags().StringVar(&f.run, "run", "", "a recorded run in place of the cluster: its name, its path, or latest")
	c.Flags().StringVar(&f.runsDir, "runs-dir", "", "folder of the runs")
	return c
}

// heartbeatResult is what `heartbeat --json` prints.
type heartbeatResult struct {
	Schema  string            `json:"schema"`
	Kind    string            `json:"kind"`
	Lease   string            `json:"lease"` // NAMESPACE/NAME
	Verdict heartbeat.Verdict `json:"verdict"`
	Reason  string            `json:"reason"` // empty if yes
	// What the Lease says; null where it says nothing, and if it was not read.
	HolderIdentity       *string    `json:"holderIdentity"`
	RenewTime            *time.Time `json:"renewTime"`
	LeaseDurationSeconds *int       `json:"leaseDurationSeconds"`
	AgeSeconds           *float64   `json:"ageSeconds"`
	LimitSeconds         *float64   `json:"limitSeconds"`
}

func (a *app) heartbeat(c *cobra.Command, f heartbeatFlags, args []string) error {
	namespace, name, err := f.named(c, args)
	if err != nil {
		return err
	}
	l, err := a.open(c.Context(), func(string) {})
	if err != nil {
		return err
	}
	own, got := name == "", heartbeat.Reading{}
	if own {
		namespace, name, err = ownLease(c.Context(), l)
	}
	if err != nil {
		got = heartbeat.Reading{Verdict: heartbeat.Unknown, Reason: fmt.Sprintf("which Lease is the operator's own could not be read: %v", err)}
	} else {
		got = heartbeat.Check(c.Context(), l.Client.CoordinationV1(), namespace, name)
	}
	if lost := l.Lost(c.Context()); lost != nil {
		return lost
	}
	if c.Context().Err() != nil {
		return context.Canceled
	}
	if a.json {
		err = report.JSON(a.streams.Out, heartbeatJSON(namespace, name, got))
	} else {
		err = a.printHeartbeat(namespace, name, own, got)
	}
	if err != nil {
		return err
	}
	return exitFor(verdictOf(got.Verdict))
}

// ownLease is the Lease that the operator's Deployment names. If that can't be read, it is the one that a new operator has.
func ownLease(ctx context.Context, l *lab.Lab) (namespace, name string, err error) {
	header, err := l.Running(ctx)
	if err != nil {
		return l.Deployment.Namespace, api.DefaultName, err
	}
	namespace, name, _ = strings.Cut(header.Lease, "/")
	return namespace, name, nil
}

// named is the Lease that was asked for; both empty for the operator's own.
func (f heartbeatFlags) named(c *cobra.Command, args []string) (namespace, name string, err error) {
	what, flag := f.lease, "--lease"
	switch {
	case c.Flags().Changed("lease") && len(args) > 0:
		return "", "", usageError{command: c.CommandPath(), err: errors.New("name one Lease: as the argument or with --lease")}
	case f.runsDir != "":
		return "", "", usageError{command: c.CommandPath(), err: errors.New("--runs-dir belongs to --run")}
	case len(args) > 0:
		what, flag = args[0], "the Lease"
	case !c.Flags().Changed("lease"):
		return "", "", nil
	}
	if namespace, name, err = namespaced(flag, what); err != nil {
		return "", "", usageError{command: c.CommandPath(), err: err}
	}
	return namespace, name, nil
}

// verdictOf is the verdict in the words of checks, which have the exit codes.
func verdictOf(v heartbeat.Verdict) check.Verdict {
	switch v {
	case heartbeat.Yes:
		return check.Pass
	case heartbeat.No:
		return check.Fail
	default:
		return check.Unknown
	}
}

func heartbeatJSON(namespace, name string, got heartbeat.Reading) heartbeatResult {
	out := heartbeatResult{Schema: report.Schema, Kind: "Heartbeat", Lease: namespace + "/" + name, Verdict: got.Verdict, Reason: got.Reason,
		AgeSeconds: inSeconds(got.Age), LimitSeconds: inSeconds(got.Limit)}
	if r := got.Record; r != nil {
		out.HolderIdentity = &r.Holder
		if r.LeaseDurationSeconds != nil {
			seconds := int(*r.LeaseDurationSeconds)
			out.LeaseDurationSeconds = &seconds
		}
		if !r.RenewTime.IsZero() {
			out.RenewTime = &r.RenewTime
		}
	}
	return out
}

func inSeconds(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	s := d.Seconds()
	return &s
}

func (a *app) printHeartbeat(namespace, name string, own bool, got heartbeat.Reading) error {
	out := a.streams.Out
	fmt.Fprintf(out, "heartbeat: %s\n", got.Verdict)
	if got.Reason != "" {
		fmt.Fprintln(out, timeline.Visible(got.Reason))
	}
	if r := got.Record; r != nil {
		fmt.Fprintf(out, "Lease %s/%s: %s\n", namespace, name, recordInWords(got))
	}
	means, next := heartbeatMeans(namespace, name, own, got)
	_, err := fmt.Fprintf(out, "means: %s\nnext: %s\n", means, a.typed(next))
	return err
}

// recordInWords is what the Lease says.
func recordInWords(got heartbeat.Reading) string {
	parts := []string{"no holder"}
	if h := got.Record.Holder; h != "" {
		parts[0] = "held by " + timeline.Visible(h)
	}
	switch {
	case got.Age == nil:
		parts = append(parts, "no renewTime")
	case *got.Age == math.MinInt64:
		parts = append(parts, "renewTime is more than 292 years in the future")
	case *got.Age < 0:
		parts = append(parts, fmt.Sprintf("renewTime is %.1f s in the future", -got.Age.Seconds()))
	case *got.Age == math.MaxInt64:
		parts = append(parts, "renewed more than 292 years ago")
	default:
		parts = append(parts, fmt.Sprintf("renewed %.1f s ago", got.Age.Seconds()))
	}
	if got.Limit == nil {
		return strings.Join(append(parts, "no leaseDurationSeconds"), ", ")
	}
	return strings.Join(append(parts, fmt.Sprintf("at most %.0f s are allowed (2 × leaseDurationSeconds %d)", got.Limit.Seconds(), *got.Record.LeaseDurationSeconds)), ", ")
}

// heartbeatMeans is what a reading means, and the command that makes sense next.
func heartbeatMeans(namespace, name string, own bool, got heartbeat.Reading) (means, next string) {
	lease := fmt.Sprintf("kubectl -n %s get lease %s -o yaml", namespace, name)
	switch {
	case got.Verdict == heartbeat.Yes && *got.Age < 0:
		return "a leader was alive, if its clock and this one agree: they do not. A leader that is gone would be noticed that much later", lease
	case got.Verdict == heartbeat.Yes && own && *got.Age > *got.Limit/heartbeat.Windows:
		return "it is yes for as long as the renewal is in its window; but no leader lets one get as old as leaseDurationSeconds: whoever led is gone", "labctl status"
	case got.Verdict == heartbeat.Yes && own:
		return "a leader renewed it lately enough to count as alive. Nothing watches: it says nothing of a minute later", "labctl failover --mode rollout && labctl heartbeat --run latest"
	case got.Verdict == heartbeat.Yes:
		return "a leader renewed it lately enough to count as alive. Nothing watches: it says nothing of a minute later", fmt.Sprintf("labctl watch --lease %s/%s", namespace, name)
	case got.Verdict == heartbeat.Unknown && strings.HasPrefix(got.Reason, "may not get"):
		return "you may not read it, which says nothing about the leader; who needs a proof has none", fmt.Sprintf("kubectl auth can-i get leases.coordination.k8s.io/%s -n %s", name, namespace)
	case got.Verdict == heartbeat.Unknown:
		return "it could not be read, which says nothing about the leader; who needs a proof has none", "labctl doctor"
	case got.Record == nil:
		return "nobody ever led by that name here, or the name is another one", fmt.Sprintf("kubectl -n %s get leases", namespace)
	case got.Record.Holder == "" && own:
		return "it was released: the last leader left in good order, and the next one has not come. Whoever needs a heartbeat sees none until then", "labctl status"
	case got.Record.Holder == "":
		return "it was released: the last leader left in good order, and the next one has not come. Whoever needs a heartbeat sees none until then", fmt.Sprintf("labctl watch --lease %s/%s", namespace, name)
	case got.Age == nil || got.Limit == nil:
		return "somebody wrote a holder into it, and no leader's elector did: that writes all of the fields", lease
	case own:
		return "its holder renews no longer, and nobody took over: nobody leads, or nobody may write the Lease", "labctl status"
	default:
		return "its holder renews no longer, and nobody took over: nobody leads, or nobody may write the Lease", lease
	}
}

// heartbeatRun is what `heartbeat --run --json` prints.
type heartbeatRun struct {
	Schema string        `json:"schema"`
	Kind   string        `json:"kind"`
	Run    string        `json:"run"`
	Trials []pulse.Pulse `json:"trials"`
}

func (a *app) heartbeatOfRun(c *cobra.Command, f heartbeatFlags, args []string) error {
	if len(args) > 0 || c.Flags().Changed("lease") {
		return usageError{command: c.CommandPath(), err: errors.New("--run tells of a recorded run's own Lease; it can't be joined with another one")}
	}
	if err := named(c, []string{f.run}); err != nil {
		return err
	}
	record, err := readFailovers(f.runsDir, []string{f.run})
	if err != nil {
		return err
	}
	pulses := pulse.Of(record.Events)
	if a.json {
		return report.JSON(a.streams.Out, heartbeatRun{report.Schema, "HeartbeatRun", record.Path, pulses})
	}
	release := ""
	if r := record.Info.ReleaseOnCancel; r != nil {
		release = fmt.Sprintf(", ReleaseOnCancel %t", *r)
	}
	fmt.Fprintf(a.streams.Out, "run %s: %s%s\n\n", filepath.Base(record.Path), record.Info.Timing, release)
	table := tabwriter.NewWriter(a.streams.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TRIAL\tMODE\tNOBODY LED\tNO HEARTBEAT\tOLDEST RENEWAL\tWHY")
	for _, p := range pulses {
		leaderless := "not seen"
		if p.LeaderlessSeconds != nil {
			leaderless = fmt.Sprintf("%.2f s", *p.LeaderlessSeconds)
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%.2f s\t%.2f s\t%s\n", p.Trial, p.Mode, leaderless, p.NoHeartbeatSeconds, p.OldestSeconds, strings.Join(p.Reasons, ", "))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.streams.Out, "\nno heartbeat: for how long a reader of the Lease would have been told no, of the time from the fault to the trial's end.\nnobody led: in all hand-overs of a trial; the lock gap that labctl failover tells is of the first one.\n")
	return err
}
