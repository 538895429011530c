package main

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"academy.example/lab/labctl/cluster/internal/state"
)

func TestParseReadsWhatArgsWrites(t *testing.T) {
	want := options{
		name: "room-3", state: "/s", sockets: "/k", startLatency: 700 * time.Millisecond, port: 6443,
		images: images{"academy.example/academy-operator": "/bin/operator", "demo": "/bin/with=sign"},
	}
	got, err := parse("child", want.args())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestParseErr(t *testing.T) {
	base := []string{"--state=/s", "--sockets=/k"}
	for name, args := range map[string][]string{
		"no state":          {"--sockets=/k"},
		"no sockets":        {"--state=/s"},
		"empty name":        append(base, "--name="),
		"relative image":    append(base, "--image=a=b"),
		"image without =":   append(base, "--image=a"),
		"negative latency":  append(base, "--pod-start-latency=-1s"),
		"stray argument":    append(base, "extra"),
		"port is not run's": append(base, "--port=1"),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse("run", args)
			var problem *state.Problem
			if !errors.As(err, &problem) || problem.Hint == "" {
				t.Errorf("got %v, want a problem with a hint", err)
			}
		})
	}
}

func TestParseDefaults(t *testing.T) {
	got, err := parse("run", []string{"--state=/s", "--sockets=/k"})
	if err != nil {
		t.Fatal(err)
	}
	if got.name != "lab" || got.startLatency != 1200*time.Millisecond {
		t.Errorf("got %+v", got)
	}
}
