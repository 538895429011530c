package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"academy.example/lab/labctl/internal/timeline"
)

// Batch is one scenario, played N times with seeds from Seed on.
type Batch struct {
	Scenario Scenario `json:"scenario"`
	N        int      `json:"n"`
	Seed     uint64   `json:"seed"`
	// Record is the fault, in the words of a run's timeline, if the results are to have one; its pods are filled in.
	Record *timeline.Fault `json:"record,omitempty"`
}

// childVariable marks the process that Simulate starts.
const childVariable = "LABCTL_SIMULATE"

// resultsFile is the child's file descriptor for its results; its standard output belongs to package testing.
const resultsFile = 3

// Simulate plays batches for a program that is no test, and returns the results of each. testing/synctest wants a test, so
// the program is run once more, as a child whose main calls Child; there everything is seeded and runs on one processor.
// The same batches give the same results, to the bit.
func Simulate(ctx context.Context, batches []Batch) ([][]Result, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	request, err := json.Marshal(batches)
	if err != nil {
		return nil, fmt.Errorf("write batches: %w", err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe: %w", err)
	}
	defer read.Close()
	var said bytes.Buffer
	child := exec.CommandContext(ctx, program)
	child.Env = append(os.Environ(), childVariable+"=1", "GODEBUG=randseednop=0,asyncpreemptoff=1", "GOMAXPROCS=1")
	child.Stdin, child.Stdout, child.Stderr = bytes.NewReader(request), &said, &said
	child.ExtraFiles = []*os.File{write}
	err = child.Start()
	write.Close()
	if err != nil {
		return nil, fmt.Errorf("start the simulator: %w", err)
	}
	answer, readErr := io.ReadAll(read)
	if err := child.Wait(); err != nil {
		return nil, fmt.Errorf("simulate: %w: %s", err, bytes.TrimSpace(said.Bytes()))
	}
	var results [][]Result
	if readErr == nil {
		readErr = json.Unmarshal(answer, &results)
	}
	if readErr != nil {
		return nil, fmt.Errorf("read the simulator's results: %w", readErr)
	}
	return results, nil
}

// Child must be the first call of a main that uses Simulate. In the child it plays what is asked for and ends the process; in
// any other process it does nothing.
func Child() {
	if os.Getenv(childVariable) == "" {
		return
	}
	var batches []Batch
	if err := json.NewDecoder(os.Stdin).Decode(&batches); err != nil {
		fmt.Fprintln(os.Stderr, "read batches:", err)
		os.Exit(1)
	}
	play := func(t *testing.T) {
		results := make([][]Result, len(batches))
		for i, b := range batches {
			results[i] = run(t, b)
		}
		out := os.NewFile(resultsFile, "results")
		if err := json.NewEncoder(out).Encode(results); err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
	}
	always := func(string, string) (bool, error) { return true, nil }
	testing.Main(always, []testing.InternalTest{{Name: "Simulate", F: play}}, nil, nil)
}
