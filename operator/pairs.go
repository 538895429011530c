package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"

	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/pairs"
)

// measurePairs measures this shard's pairs on the cluster that the pod is in, and prints each trial as a line of JSON.
func measurePairs(ctx context.Context, p process) error {
	config, kubeconfig, err := parsePairs(p.args[1:], p.getenv, p.stderr)
	if err != nil {
		return err
	}
	if config.REST, err = restConfig(kubeconfig, p.getenv); err != nil {
		return err
	}
	config.REST.UserAgent = api.Program + "/pairs"
	trials, err := pairs.Run(ctx, config)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(p.stdout)
	for _, t := range trials {
		if err := lines.Encode(t); err != nil {
			return fmt.Errorf("write the trials: %w", err)
		}
	}
	return nil
}

// parsePairs reads the flags of a shard. The error joins everything that is wrong, or is flag.ErrHelp.
func parsePairs(args []string, getenv func(string) string, usage io.Writer) (c pairs.Config, kubeconfig string, err error) {
	c.Namespace, c.Timing = cmp.Or(getenv(api.EnvPodNamespace), api.DefaultNamespace), api.Default()
	shards, total := 0, 0
	fs := flag.NewFlagSet(api.Program+" "+api.PairsCommand, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.IntVar(&total, "pairs", 100, "pairs of candidates of all shards together")
	fs.IntVar(&shards, "shards", 1, "processes among which they are shared; "+envIndex+" says which one this is, from 0")
	fs.BoolVar(&c.Release, "release", false, "ask the leader to stop, so that it releases the Lease; else it is cut off for good")
	fs.Uint64Var(&c.Seed, "seed", 1, "seed of the random moments")
	fs.DurationVar(&c.Timing.LeaseDuration, api.FlagLeaseDuration, c.Timing.LeaseDuration, "of the candidates")
	fs.DurationVar(&c.Timing.RenewDeadline, api.FlagRenewDeadline, c.Timing.RenewDeadline, "of the candidates")
	fs.DurationVar(&c.Timing.RetryPeriod, api.FlagRetryPeriod, c.Timing.RetryPeriod, "of the candidates")
	fs.StringVar(&kubeconfig, api.FlagKubeconfig, "", "file that says where the API server is")
	hint := api.Program + " " + api.PairsCommand + " --help"
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fs.SetOutput(usage)
			fs.Usage()
			return c, kubeconfig, err
		}
		return c, kubeconfig, api.Problem{What: err.Error(), Hint: hint}
	}
	index, notNumber := strconv.Atoi(cmp.Or(getenv(envIndex), "0"))
	problems := []error{c.Timing.Validate()}
	if total < 1 || shards < 1 || shards > total {
		problems = append(problems, api.Problem{What: fmt.Sprintf("%d pairs can't be shared among %d shards", total, shards), Hint: hint})
	}
	if notNumber != nil || index < 0 || index >= max(1, shards) {
		problems = append(problems, api.Problem{What: fmt.Sprintf("%s=%s is none of %d shards", envIndex, getenv(envIndex), shards), Hint: "kubectl explain job.spec.completionMode"})
	}
	if err := errors.Join(problems...); err != nil {
		return c, kubeconfig, err
	}
	c.First, c.Pairs = pairs.Share(total, shards, index)
	return c, kubeconfig, nil
}

// envIndex is the variable that Kubernetes sets in each pod of an Indexed Job.
const envIndex = "JOB_COMPLETION_INDEX"
