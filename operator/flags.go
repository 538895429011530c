package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/election"
)

// options is the command line after parsing.
type options struct {
	lock           election.Config
	election       string
	guards         api.Guards
	identitySource string
	onLoss         string
	coordination   api.Coordination
	address        string
	kubeconfig     string
	podNamespace   string // of the work objects
}

// parse reads flags and environment. The error joins everything that is wrong, or is flag.ErrHelp.
func parse(args []string, getenv func(string) string, usage io.Writer) (options, error) {
	o := options{podNamespace: cmp.Or(getenv(api.EnvPodNamespace), api.DefaultNamespace), guards: api.AllGuards()}
	identity, given := "", ""
	fs := flag.NewFlagSet(api.Program, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	define(fs, &o, getenv)
	fs.StringVar(&identity, api.FlagIdentity, api.IdentityPod, api.IdentityPod+": the pod's name; "+api.IdentityPodUUID+": a new one for each process")
	fs.StringVar(&given, api.FlagIdentityName, "", "name to contend under; otherwise the variable "+api.EnvPodName+", otherwise HOSTNAME, otherwise a random name")

	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fs.SetOutput(usage)
			fmt.Fprintf(usage, "Usage: %s [flags]\n       %s %s\n\n", api.Program, api.Program, api.ExitCommand)
			fs.PrintDefaults()
			return o, err
		}
		return o, api.Problem{What: err.Error(), Hint: api.Program + " --help"}
	}
	var problems []error
	if fs.NArg() > 0 {
		problems = append(problems, api.Problem{What: fmt.Sprintf("argument %q is not understood", fs.Arg(0)), Hint: api.Program + " --help"})
	}
	name, source, err := election.Identity(identity, given, getenv)
	if err != nil {
		problems = append(problems, err)
		name = "unknown" // reported already
	}
	o.lock.Identity, o.identitySource = name, source
	o.coordination.EmulationVersion = api.Emulated(o.coordination.EmulationVersion, o.coordination.BinaryVersion)
	problems = append(problems, api.CheckElection(o.election), api.CheckLoss(o.election, o.onLoss), o.lock.Validate(), o.coordination.Validate())
	if _, _, err := net.SplitHostPort(o.address); err != nil {
		problems = append(problems, api.Problem{
			What: fmt.Sprintf("--%s: %v", api.FlagBindAddress, err),
			Hint: fmt.Sprintf("--%s=127.0.0.1:%d", api.FlagBindAddress, api.DefaultPort),
		})
	}
	return o, errors.Join(problems...)
}

// guardMeanings says what each of api.Guards does, in their order.
var guardMeanings = []string{
	"a client of its own for the Lease, with a time-out",
	"end the work a RenewDeadline after the last renewal was sent",
	"give the Lease back only after the work has stopped, and never over another holder",
	"write only what no later leader has stamped",
}

func define(fs *flag.FlagSet, o *options, getenv func(string) string) {
	timing := api.Default()
	fs.DurationVar(&o.lock.Timing.LeaseDuration, api.FlagLeaseDuration, timing.LeaseDuration, "how long a standby waits after the last renewal it saw")
	fs.DurationVar(&o.lock.Timing.RenewDeadline, api.FlagRenewDeadline, timing.RenewDeadline, "how long the leader tries to renew before it gives up")
	fs.DurationVar(&o.lock.Timing.RetryPeriod, api.FlagRetryPeriod, timing.RetryPeriod, "wait between two attempts")
	fs.StringVar(&o.lock.Name, api.FlagLeaseName, api.DefaultName, "name of the Lease")
	fs.StringVar(&o.lock.Namespace, api.FlagLeaseNamespace, o.podNamespace, "namespace of the Lease")
	fs.BoolVar(&o.lock.ReleaseOnCancel, api.FlagReleaseOnCancel, true, "give the Lease back when asked to stop")
	fs.StringVar(&o.election, api.FlagElection, api.DefaultElection, "how leaders are elected: "+strings.Join(api.Elections(), " or "))
	fs.StringVar(&o.onLoss, api.FlagOnLoss, api.OnLossExit, api.OnLossExit+", or "+api.OnLossRejoin+" with --"+api.FlagElection+"="+api.ElectionGuarded)
	fs.StringVar(&o.coordination.Strategy, api.FlagStrategy, api.StrategyOldest, "whom the API server elects with --"+api.FlagElection+"="+api.ElectionCoordinated+": "+api.StrategyOldest)
	fs.StringVar(&o.coordination.BinaryVersion, api.FlagBinaryVersion, api.DefaultBinaryVersion, "version of this program, as its LeaseCandidate says it; other elections ignore it")
	fs.StringVar(&o.coordination.EmulationVersion, api.FlagEmulationVersion, "", "version that this program behaves like; --"+api.FlagBinaryVersion+" if it is not given")
	for i, g := range o.guards.Each() {
		fs.BoolVar(g.On, g.Flag, true, "with --"+api.FlagElection+"="+api.ElectionGuarded+": "+guardMeanings[i])
	}
	fs.StringVar(&o.address, api.FlagBindAddress, net.JoinHostPort(cmp.Or(getenv(api.EnvPodIP), "127.0.0.1"), strconv.Itoa(api.DefaultPort)), "address of probes and metrics")
	fs.StringVar(&o.kubeconfig, api.FlagKubeconfig, "", "path of a kubeconfig; otherwise the variable KUBECONFIG, otherwise the pod's service account")
}
