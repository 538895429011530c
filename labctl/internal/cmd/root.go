// Package cmd owns the command line: flags to calls of lab, results to stdout, errors to a message, a hint and an exit code.
package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/sim"
)

// Streams are the program's input and outputs: results on Out, everything else on Err.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Exit codes of labctl.
const (
	ExitPass        = 0   // done; every check passed
	ExitFail        = 1   // a check failed
	ExitUnknown     = 2   // something that a verdict needs was not seen
	ExitCannotRun   = 3   // wrong usage, or the environment
	ExitTimeLimit   = 124 // --time-limit was reached
	ExitInterrupted = 130
)

// Main runs labctl with the process's signals and returns the exit code.
func Main(args []string, streams Streams) int {
	sim.Child() // which does nothing unless this is the simulator's process
	quietLibraries()
	ctx, stop := interruptible(context.Background())
	defer stop()
	return Run(ctx, args, streams)
}

// quietLibraries keeps what client-go logs off the screen: what matters to a person comes back as an error.
func quietLibraries() {
	klog.SetLogger(logr.Discard()) // klog writes errors to stderr, whatever its output is
}

// app is what every command shares.
type app struct {
	streams Streams
	self    string   // how labctl was called, for hints that can be typed
	args    []string // as typed, without the program
	name    string   // --name
	// exercises is --exercises of a command that takes it, for hints.
	exercises string
	// left is what to type after an interrupt, for a command that may leave something half done.
	left      string
	json      bool
	debug     bool
	providers []provider.Provider
}

// Run runs labctl with args (args[0] is the program) and returns the exit code. It never calls os.Exit.
func Run(ctx context.Context, args []string, streams Streams) int {
	out := &output{to: streams.Out}
	streams.Out = out
	a := &app{streams: streams, self: selfName(args[0]), args: args[1:], providers: providers()}
	root := a.root()
	root.SetArgs(args[1:])
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	err := root.ExecuteContext(ctx)
	if out.err != nil && ctx.Err() == nil {
		a.message("the result could not be written: "+out.err.Error(), "")
		return ExitCannotRun
	}
	if err == nil {
		return ExitPass
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		a.message("interrupted", a.left)
		return ExitInterrupted
	}
	var verdict verdictError
	if errors.As(err, &verdict) {
		return verdict.code
	}
	a.report(err)
	return ExitCannotRun
}

// selfName is how the program can be called again: as it was, or by its bare name if found by PATH.
func selfName(arg string) string {
	if strings.ContainsRune(arg, filepath.Separator) {
		return arg
	}
	return "labctl"
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "labctl",
		Short: "Time how long nobody leads: failovers of a leader-elected operator",
		Long:  "labctl makes a Kubernetes control plane with academy-operator (two replicas, one Lease), takes the leader\naway in several ways, and measures how long nobody leads, beside the three configured durations.",
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			err := provider.CheckName(a.name)
			if err != nil {
				a.name = provider.DefaultLab // for the hint
				return &provider.Problem{Err: err, Hint: c.CommandPath() + " --name lab"}
			}
			return nil
		},
		SilenceErrors: true,
		SilenceUsage:  true,

		SuggestionsMinimumDistance: 2,
		Args:                       cobra.ArbitraryArgs,
		RunE:                       group,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.name, "name", provider.DefaultLab, "name of the lab")
	flags.BoolVar(&a.json, "json", false, "print the result as JSON")
	flags.BoolVar(&a.debug, "debug", false, "print the whole chain of an error")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(a.upCommand(), a.downCommand(), a.statusCommand(), a.doctorCommand(), a.envCommand(), a.kubeconfigCommand(),
		a.scaleCommand(), a.operatorCommand(), a.failoverCommand(), a.mutantsCommand(), a.watchCommand(), a.heartbeatCommand(), a.gateCommand(), a.readmissionCommand(),
		a.reportCommand(), a.replayCommand(), a.predictCommand(), a.adviseCommand(), a.simulateCommand(), a.trialsCommand(), a.benchCommand(), a.imageCommand(), a.versionCommand(),
		a.exerciseCommand(), a.checklistCommand(), a.evidenceCommand(), a.classCommand(), a.resetCommand())
	return root
}

// group is what a command that only has commands of its own does: it shows them.
func group(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{command: c.CommandPath(), err: fmt.Errorf("unknown command %q%s", args[0], suggestion(c, args[0]))}
	}
	return c.Help()
}

func suggestion(c *cobra.Command, word string) string {
	if near := c.SuggestionsFor(word); len(near) > 0 {
		return fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
	}
	return ""
}

// noArgs refuses arguments with the command's own help as the hint.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{command: c.CommandPath(), err: fmt.Errorf("%s takes no argument %q", c.CommandPath(), args[0])}
	}
	return nil
}
