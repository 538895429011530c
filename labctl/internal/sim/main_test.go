package sim

import (
	"os"
	"runtime/debug"
	"testing"
)

func TestMain(m *testing.M) {
	Child()
	debug.SetGCPercent(800)               // many short worlds, each small
	os.Setenv("GODEBUG", "randseednop=0") // client-go's jitter follows the seed
	os.Exit(m.Run())
}
