package cmd

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/sim"
	"academy.example/lab/operator/api"
)

type simulateFlags struct {
	n, standbys, trial     int
	mode, timing, election string
	release                bool
	latency                time.Duration
	seed                   uint64
	runsDir                string
}

func (a *app) simulateCommand() *cobra.Command {
	var f simulateFlags
	c := &cobra.Command{
		Use:   "simulate",
		Short: "Run thousands of failovers of the real election in virtual time",
		Long: "simulate runs client-go's unmodified elector, plain or guarded, in virtual time, against a Lease in memory that refuses\n" +
			"what the API server refuses. It needs no lab. The same seed gives the same trials.\n" +
			"--trial plays one of them again and records it as a run, for replay and report.",
		Example: "  labctl simulate -n 10000 --mode kill\n  labctl simulate --mode cut-blackhole --seed 7 --trial 12",
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.simulate(c, f) },
	}
	c.Flags().IntVarP(&f.n, "trials", "n", 10000, fmt.Sprintf("1 to %d failovers", maxSimulated))
	c.Flags().StringVar(&f.mode, "mode", string(fault.Kill), "kill, graceful, freeze, cut-refuse or cut-blackhole")
	c.Flags().StringVar(&f.election, "election", api.ElectionPlain, "plain or guarded")
	c.Flags().StringVar(&f.timing, "timing", "default", "default, fast or three numbers of seconds")
	c.Flags().BoolVar(&f.release, "release-on-cancel", true, "whether a leader that stops releases the Lease")
	c.Flags().IntVar(&f.standbys, "standbys", 1, "candidates that poll")
	c.Flags().DurationVar(&f.latency, "latency", 5*time.Millisecond, "how long a request takes, there and back")
	c.Flags().Uint64Var(&f.seed, "seed", 0, "seed of all that is random; 0 draws one")
	c.Flags().IntVar(&f.trial, "trial", 0, "play this trial of the seed alone, from 1, and record it as a run")
	c.Flags().StringVar(&f.runsDir, "runs-dir", "", "folder of the runs, for --trial")
	return c
}

// maxSimulated keeps a typing error from running for hours.
const maxSimulated = 1_000_000

// simulateResult is what `simulate --json` prints.
type simulateResult struct {
	Schema          string         `json:"schema"`
	Kind            string         `json:"kind"`
	Mode            fault.Mode     `json:"mode"`
	Election        string         `json:"election"`
	ReleaseOnCancel bool           `json:"releaseOnCancel"`
	Timing          api.Timing     `json:"timing"`
	Standbys        int            `json:"standbys"`
	LatencySeconds  float64        `json:"latencySeconds"`
	Seed            uint64         `json:"seed"`
	N               int            `json:"n"`
	Seconds         float64        `json:"seconds"`
	Sample          gap.Sample     `json:"sample"`
	Predicted       gap.Prediction `json:"predicted"`
	// TwoLeaders is in how many trials two worked at a time, TwoLeadersAtMost the 95 % bound of their share.
	TwoLeaders         int     `json:"twoLeaders"`
	TwoLeadersAtMost   float64 `json:"twoLeadersShareAtMost"`
	OverlapMeanSeconds float64 `json:"overlapMeanSeconds"` // of the trials with one
	OverlapMaxSeconds  float64 `json:"overlapMaxSeconds"`
	StaleWrites        int     `json:"staleWrites"`
	RefusedWrites      int     `json:"refusedWrites"`
	NoTakeover         int     `json:"noTakeover"`
	// LongestTrial is the trial, from 1, with the longest overlap, or the longest gap if there was no overlap.
	LongestTrial int `json:"longestTrial"`

	again string // the command that plays that trial again
}

// scenario checks the flags.
func (f simulateFlags) scenario(c *cobra.Command) (sim.Scenario, error) {
	wrong := func(hint, format string, args ...any) (sim.Scenario, error) {
		return sim.Scenario{}, &provider.Problem{Err: fmt.Errorf(format, args...), Hint: "labctl simulate " + hint}
	}
	timing, err := parseTiming(c.CommandPath(), f.timing)
	if err != nil {
		return sim.Scenario{}, err
	}
	s := sim.Scenario{Timing: timing, Election: f.election, Guards: api.AllGuards(), ReleaseOnCancel: f.release, Standbys: f.standbys, Latency: f.latency}
	var known bool
	s.Fault, known = playable(fault.Mode(f.mode), timing)
	switch {
	case !known:
		return wrong("--mode kill", "--mode %q: it can be kill, graceful, freeze, cut-refuse or cut-blackhole", f.mode)
	case f.n < 1 || f.n > maxSimulated:
		return wrong("-n 10000", "-n %d is not between 1 and %d", f.n, maxSimulated)
	case f.trial < 0 || f.trial > maxSimulated || f.trial == 0 && c.Flags().Changed("trial"):
		return wrong("--seed 7 --trial 1", "--trial %d is not between 1 and %d", f.trial, maxSimulated)
	case f.runsDir != "" && f.trial == 0:
		return wrong("--trial 1 --runs-dir "+shellWord(f.runsDir), "only a trial that is played alone is recorded, and --runs-dir says where: --trial is missing")
	case f.standbys < 1 || f.standbys > maxReplicas:
		return wrong("--standbys 1", "--standbys %d is not between 1 and %d", f.standbys, maxReplicas)
	case !slices.Contains(api.ContendedElections(), f.election):
		return wrong("--election plain", "--election %q is neither plain nor guarded", f.election)
	case f.latency < 0 || f.latency > time.Second:
		return wrong("--latency 5ms", "--latency %s is not between 0 and 1s", f.latency)
	}
	return s, nil
}

// playable is what the simulator does for a mode.
func playable(m fault.Mode, t api.Timing) (f sim.Fault, known bool) {
	switch m {
	case fault.Kill:
		return sim.Fault{Kind: sim.Kill}, true
	case fault.Graceful:
		return sim.Fault{Kind: sim.Stop}, true
	case fault.Freeze:
		return sim.Fault{Kind: sim.Freeze, For: gap.Silence(t)}, true
	case fault.CutRefuse:
		return sim.Fault{Kind: sim.Cut, Refuse: true}, true
	case fault.CutBlackHole:
		return sim.Fault{Kind: sim.Cut}, true
	default:
		return f, false
	}
}

func (a *app) simulate(c *cobra.Command, f simulateFlags) error {
	s, err := f.scenario(c)
	if err != nil {
		return err
	}
	if f.trial > 0 {
		return a.simulateOne(c.Context(), f, s)
	}
	if f.seed == 0 {
		f.seed = uint64(rand.Uint32()) + 1
	}
	show := newProgress(a.streams.Err)
	defer show.Stop()
	show.Say(fmt.Sprintf("playing %d failovers in virtual time", f.n))
	begun := time.Now()
	results, err := simulated(c.Context(), s, f.n, f.seed)
	show.Stop()
	if err != nil {
		return err
	}
	in := gap.Input{Timing: s.Timing, Mode: fault.Mode(f.mode), Standbys: f.standbys, KeepsLease: !f.release}
	r := simulateResult{Schema: report.Schema, Kind: "Simulation", Mode: in.Mode, Election: f.election, ReleaseOnCancel: f.release, Timing: s.Timing, Standbys: f.standbys,
		LatencySeconds: f.latency.Seconds(), Seed: f.seed, N: f.n, Seconds: time.Since(begun).Seconds(), Predicted: gap.PredictClass(in, in.Class())}
	r.sum(results)
	r.again = f.line(s.Timing, r.LongestTrial)
	if a.json {
		return report.JSON(a.streams.Out, r)
	}
	return a.printSimulation(r)
}

// simulated shares the trials among the processors, a child for each; a trial depends on its own seed alone.
func simulated(ctx context.Context, s sim.Scenario, n int, seed uint64) ([]sim.Result, error) {
	parts := min(n, runtime.NumCPU())
	results, errs := make([][]sim.Result, parts), make([]error, parts)
	var playing sync.WaitGroup
	for p := range parts {
		first, last := p*n/parts, (p+1)*n/parts
		playing.Go(func() {
			batches, err := sim.Simulate(ctx, []sim.Batch{{Scenario: s, N: last - first, Seed: seed + uint64(first)}})
			if err == nil {
				results[p] = batches[0]
			}
			errs[p] = err
		})
	}
	playing.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return slices.Concat(results...), errors.Join(errs...)
}

// sum sums the trials up.
func (r *simulateResult) sum(results []sim.Result) {
	var gaps []float64
	total, longest := 0.0, sim.Result{}
	for i, t := range results {
		if r.LongestTrial == 0 || t.Overlap > longest.Overlap || t.Overlap == longest.Overlap && t.Gap > longest.Gap {
			r.LongestTrial, longest = i+1, t
		}
		if !t.TookOver {
			r.NoTakeover++
			continue
		}
		gaps = append(gaps, t.Gap.Seconds())
		r.StaleWrites += t.Stale
		r.RefusedWrites += t.Refused
		if t.Overlap > 0 {
			r.TwoLeaders++
			total += t.Overlap.Seconds()
			r.OverlapMaxSeconds = max(r.OverlapMaxSeconds, t.Overlap.Seconds())
		}
	}
	r.Sample = gap.Sum(gaps)
	if r.TwoLeaders > 0 {
		r.OverlapMeanSeconds = total / float64(r.TwoLeaders)
	}
	r.TwoLeadersAtMost = gap.ShareAtMost(r.TwoLeaders, len(results))
}

func (a *app) printSimulation(r simulateResult) error {
	out, s, p := a.streams.Out, r.Sample, r.Predicted
	fmt.Fprintf(out, "%d failovers in virtual time, in %.1f s: %s, election %s, ReleaseOnCancel %t, %s, standbys %d, seed %d\n\n",
		r.N, r.Seconds, r.Mode, r.Election, r.ReleaseOnCancel, r.Timing, r.Standbys, r.Seed)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "GAP\tMIN\tMEAN\tP50\tP95\tP99\tMAX")
	fmt.Fprintf(table, "predicted\t%.2f s\t%.2f s\t%.2f s\t%.2f s\t%.2f s\t%.2f s\n", p.MinSeconds, p.MeanSeconds, p.P50Seconds, p.P95Seconds, p.P99Seconds, p.MaxSeconds)
	if s.N > 0 {
		fmt.Fprintf(table, "simulated\t%.2f s\t%.2f s\t%.2f s\t%s\t%s\t%.2f s\n", s.MinSeconds, s.MeanSeconds, s.P50Seconds, orFew(s.P95Seconds), orFew(s.P99Seconds), s.MaxSeconds)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\ntwo leaders: in %d of %d", r.TwoLeaders, r.N)
	if r.TwoLeaders > 0 {
		fmt.Fprintf(out, ", for %.2f s on average and %.2f s at most", r.OverlapMeanSeconds, r.OverlapMaxSeconds)
	}
	fmt.Fprintf(out, "; in at most %.2g %% of all such failovers, at 95 %% confidence\n", 100*r.TwoLeadersAtMost)
	fmt.Fprintf(out, "writes of an old leader after its successor began: %d went through, %d were refused by the fence\n", r.StaleWrites, r.RefusedWrites)
	if r.NoTakeover > 0 {
		fmt.Fprintf(out, "nobody took over in %d\n", r.NoTakeover)
	}
	next := "labctl simulate --mode cut-blackhole"
	if r.Mode == fault.CutBlackHole && r.Election == api.ElectionPlain {
		next = "labctl simulate --mode cut-blackhole --election guarded"
	}
	longest := "gap"
	if r.TwoLeaders > 0 {
		longest = "overlap"
	}
	_, err := fmt.Fprintf(out, "\nthe trial with the longest %s, as a run to look at:\n  %s\nnext: %s\n", longest, a.typed(r.again), a.typed(next))
	return err
}
