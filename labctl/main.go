// Command labctl is the instrument of the failover lab: it makes a control plane with a leader-elected operator, takes
// the leader away, and measures how long nobody leads.
package main

import (
	"os"

	"academy.example/lab/labctl/internal/cmd"
)

func main() {
	os.Exit(cmd.Main(os.Args, cmd.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
