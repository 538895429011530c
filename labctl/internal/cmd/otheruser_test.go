package cmd

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// nobody is the uid and gid of the user who tries to get at somebody else's lab.
const nobody = 65534

// otherVariable marks the process that runs as nobody.
const otherVariable = "LABCTL_TEST_OTHER_USER"

// attempt is something that only the lab's owner can do.
type attempt struct {
	How    string // read, write, list: a path; dial: a unix socket; signal: a process; ask: a URL
	Target string
	// Pair is the path, without .crt and .key, of the client certificate that an answer needs; whoever can't read it goes without.
	Pair string
}

func (a attempt) String() string { return a.How + " " + a.Target }

// try returns nil if it succeeds. An answer of HTTP is a success unless it refuses who asks.
func (a attempt) try() error {
	switch a.How {
	case "read", "write":
		flag := map[string]int{"read": os.O_RDONLY, "write": os.O_WRONLY}[a.How]
		f, err := os.OpenFile(a.Target, flag, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		if _, err := f.Read(make([]byte, 1)); a.How == "read" && err != nil && err != io.EOF {
			return err
		}
		return nil
	case "list":
		_, err := os.ReadDir(a.Target)
		return err
	case "dial":
		conn, err := net.Dial("unix", a.Target)
		if err == nil {
			conn.Close()
		}
		return err
	case "signal":
		pid, err := strconv.Atoi(a.Target)
		if err != nil {
			return err
		}
		return syscall.Kill(pid, 0)
	case "ask":
		return a.ask()
	}
	return fmt.Errorf("unknown attempt %q", a.How)
}

func (a attempt) ask() error {
	transport := insecure()
	if pair, err := tls.LoadX509KeyPair(a.Pair+".crt", a.Pair+".key"); err == nil {
		transport.TLSClientConfig.Certificates = []tls.Certificate{pair}
	}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Get(a.Target)
	if err != nil {
		return err
	}
	answer.Body.Close()
	if answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden {
		return errors.New(answer.Status)
	}
	return nil
}

// insecure does not mind whom it speaks to, as an attacker would not.
func insecure() *http.Transport {
	return &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
}

// outcome is what became of all attempts: for each the error, "" for a success.
type outcome struct {
	UID    int
	Errors []string
}

func tryAll(attempts []attempt) outcome {
	o := outcome{UID: os.Getuid()}
	for _, a := range attempts {
		text := ""
		if err := a.try(); err != nil {
			text = err.Error()
		}
		o.Errors = append(o.Errors, text)
	}
	return o
}

// beOtherUser is the main of the process that asNobody starts; in any other it returns at once.
func beOtherUser() {
	if os.Getenv(otherVariable) == "" {
		return
	}
	var attempts []attempt
	err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody), json.NewDecoder(os.Stdin).Decode(&attempts))
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(tryAll(attempts))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// asNobody makes the attempts in a process of another user.
func asNobody(t *testing.T, attempts []attempt) outcome {
	t.Helper()
	in, err := json.Marshal(attempts)
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), otherVariable+"=1")
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(in), &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	var o outcome
	if err := json.Unmarshal(out.Bytes(), &o); err != nil || len(o.Errors) != len(attempts) {
		t.Fatalf("%v: %d outcomes of %d attempts: %s", err, len(o.Errors), len(attempts), out.String())
	}
	if o.UID != nobody {
		t.Fatalf("the attempts were made by uid %d, want %d", o.UID, nobody)
	}
	return o
}

// onlyForOwner fails for each attempt that succeeds for another user, and for each that does not for this one: that would
// say nothing.
func onlyForOwner(t *testing.T, attempts []attempt) {
	t.Helper()
	own, other := tryAll(attempts), asNobody(t, attempts)
	for i, a := range attempts {
		if own.Errors[i] != "" {
			t.Errorf("%s: the owner cannot either: %s", a, own.Errors[i])
		}
		if other.Errors[i] == "" {
			t.Errorf("%s: another user can", a)
		}
	}
}
