package agent

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

const programKey = "ACADEMY_TEST_PROGRAM"

// TestMain lets the test binary stand for the image of every pod here.
func TestMain(m *testing.M) {
	if program := os.Getenv(programKey); program != "" {
		os.Exit(run(program))
	}
	os.Exit(m.Run())
}

func run(program string) int {
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	switch program {
	case "polite":
		fmt.Println("running")
		<-terminated
		fmt.Println("terminated")
		return 0
	case "deaf":
		fmt.Println("running")
		for range terminated {
			fmt.Println("not listening")
		}
	case "exit":
		code, _ := strconv.Atoi(os.Args[1])
		fmt.Println("exiting")
		return code
	case "show":
		for _, e := range os.Environ() {
			fmt.Println("env", e)
		}
		for _, arg := range os.Args[1:] {
			fmt.Println("arg", arg)
		}
		dir, _ := os.Getwd()
		fmt.Println("dir", dir)
		<-terminated
	case "serve":
		return serve(terminated)
	}
	return 0
}

// serve answers /NAME with 200 while the file NAME is in TMPDIR, else with 500.
func serve(terminated <-chan os.Signal) int {
	listener, err := net.Listen("tcp4", os.Args[1])
	if err != nil {
		fmt.Println(err)
		return 1
	}
	go func() {
		_ = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := os.Stat(filepath.Join(os.Getenv("TMPDIR"), r.URL.Path)); err != nil {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}))
	}()
	<-terminated
	return 0
}
