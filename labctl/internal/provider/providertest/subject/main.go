// Subject is the program in the pods of the conformance suite. Its first argument says how it behaves; each line that it
// prints ends with the wall clock in nanoseconds, or holds what was asked for.
package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() { os.Exit(run(os.Args[1:])) }

func say(what string) { fmt.Println(what, time.Now().UnixNano()) }

func run(args []string) int {
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	if len(args) == 0 {
		args = []string{"polite"}
	}
	say("running")
	switch args[0] {
	case "polite": // ends on SIGTERM
		<-terminated
		say("terminated")
	case "deaf": // does not
		for range terminated {
			say("terminated")
		}
	case "exit": // ends at once, with the code that follows
		code, _ := strconv.Atoi(args[1]) // what is no number is 0
		return code
	case "env": // tells its environment
		for _, e := range os.Environ() {
			fmt.Println("env", e)
		}
	case "show": // tells all that it was given
		for _, e := range os.Environ() {
			fmt.Println("env", e)
		}
		for _, a := range args[1:] {
			fmt.Println("arg", a)
		}
		fmt.Println("shown")
		<-terminated
	case "say": // for exec
		for _, a := range args[1:] {
			fmt.Println(a)
		}
		return 3
	case "dial": // tells again and again whether the API server can be reached
		dial(terminated)
	case "serve": // answers /late well from two seconds after its start on, and /early until then
		return serve(terminated)
	}
	return 0
}

// dial tries a new connection five times a second: it is open, refused, or silent for half a second.
func dial(terminated <-chan os.Signal) {
	server := net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
	for {
		connection, err := net.DialTimeout("tcp", server, 500*time.Millisecond)
		switch {
		case err == nil:
			say("open")
			connection.Close()
		case errors.Is(err, syscall.ECONNREFUSED):
			say("refused")
		default:
			say("silent")
		}
		select {
		case <-terminated:
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
}

const turn = 2 * time.Second

func serve(terminated <-chan os.Signal) int {
	begun := time.Now()
	listener, err := net.Listen("tcp", net.JoinHostPort(os.Getenv("POD_IP"), "8080"))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if late := time.Since(begun) > turn; late != (r.URL.Path == "/late") {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	<-terminated
	say("terminated")
	return 0
}
