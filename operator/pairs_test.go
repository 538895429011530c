package main

import (
	"io"
	"strconv"
	"strings"
	"testing"

	"academy.example/lab/operator/api"
)

// Of any number of pairs and shards each pair is measured by exactly one shard.
func TestMeasurePairs_EachPairIsOfOneShard(t *testing.T) {
	for _, c := range [][2]string{{"100", "3"}, {"7", "7"}, {"5", "1"}, {"400", "50"}} {
		next := 0
		for index := 0; ; index++ {
			env := map[string]string{"JOB_COMPLETION_INDEX": strconv.Itoa(index)}
			config, _, err := parsePairs([]string{"--pairs=" + c[0], "--shards=" + c[1]}, func(key string) string { return env[key] }, io.Discard)
			if err != nil {
				break
			}
			if config.First != next || config.Pairs < 1 {
				t.Errorf("%s pairs, %s shards: shard %d begins at %d, want %d", c[0], c[1], index, config.First, next)
			}
			next += config.Pairs
		}
		if want := map[string]int{"100": 100, "7": 7, "5": 5, "400": 400}[c[0]]; next != want {
			t.Errorf("%s pairs, %s shards: %d are measured", c[0], c[1], next)
		}
	}
}

func TestMeasurePairs_WhatIsWrongIsNamed(t *testing.T) {
	for _, c := range []struct {
		env   map[string]string
		args  []string
		piece string
	}{
		{nil, []string{"--pairs=2", "--shards=3"}, "error: 2 pairs can't be shared among 3 shards"},
		{map[string]string{"JOB_COMPLETION_INDEX": "3"}, []string{"--shards=3"}, "error: JOB_COMPLETION_INDEX=3 is none of 3 shards"},
		{nil, []string{"--leader-elect-renew-deadline=20s"}, "hint: --leader-elect-lease-duration"},
		{nil, []string{"--mode=kill"}, "hint: academy-operator measure-pairs --help"},
		{nil, nil, "error: no kubeconfig is named, and this is not a pod with a service account"},
	} {
		if got := try(t, c.env, append([]string{api.PairsCommand}, c.args...)...); !strings.Contains(got, c.piece) {
			t.Errorf("%v: got %q, want %q in it", c.args, got, c.piece)
		}
	}
}
