package cmd

// Rules for what people read:
//   stdout carries the result and nothing else; progress, errors and hints go to stderr.
//   A problem is one line `error:`, in lower case and without a full stop, then one line `hint:` with a command to type.
//   A command in a hint starts as labctl itself was started, so that it can be copied.
//   The chain of an error is shown with --debug only, and never a stack trace.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/operator/api"
)

// usageError is a command line that can't be read.
type usageError struct {
	command string
	err     error
}

func (u usageError) Error() string { return u.err.Error() }

// flagError says in plain words what is wrong with a flag of any command: the words of Go's parsers help nobody who types.
func flagError(c *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &value) && errors.Is(err, strconv.ErrRange):
		err = fmt.Errorf("--%s %s: the number is out of range", value.GetFlag().Name, value.GetValue())
	case errors.As(err, &value):
		err = fmt.Errorf("--%s %s: want %s", value.GetFlag().Name, value.GetValue(), wanted(value.GetFlag().Value.Type()))
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		err = fmt.Errorf("unknown flag: -%s", unknown.GetSpecifiedShortnames())
	}
	return usageError{command: c.CommandPath(), err: err}
}

// wanted tells what a flag of that type takes.
func wanted(kind string) string {
	switch kind {
	case "int":
		return "a whole number"
	case "float64":
		return "a number"
	case "uint64":
		return "a whole number that is not negative"
	case "duration":
		return "a duration with its unit, such as 90s or 2m"
	case "bool":
		return "true or false"
	default:
		return "a value of type " + kind
	}
}

// verdictError carries an exit code for a result that is printed already.
type verdictError struct{ code int }

func (v verdictError) Error() string { return fmt.Sprintf("exit code %d", v.code) }

// exitFor turns a verdict into the error that sets the exit code.
func exitFor(v check.Verdict) error {
	switch v {
	case check.Fail:
		return verdictError{ExitFail}
	case check.Unknown:
		return verdictError{ExitUnknown}
	default:
		return nil
	}
}

// report prints an error and its hint.
func (a *app) report(err error) {
	var problem *provider.Problem
	var usage usageError
	var configuration api.Problem
	look, isFile := fileHint(err)
	switch {
	case errors.As(err, &usage):
		a.message(usage.Error(), usage.command+" --help")
	case errors.As(err, &configuration):
		for _, p := range api.Problems(err) {
			a.message(p.What, p.Hint)
		}
	case errors.As(err, &problem):
		a.message(err.Error(), problem.Hint)
	case unreachable(err):
		a.message("the API server does not answer: "+root(err).Error(), "labctl doctor")
	case isFile:
		a.message(err.Error(), look)
	default:
		a.message(err.Error(), "labctl doctor")
	}
	if a.debug {
		a.chain(err)
	}
}

// chain prints an error and all that it wraps.
func (a *app) chain(err error) {
	fmt.Fprintf(a.streams.Err, "debug: %T: %s\n", err, lines(err.Error()))
	for _, inner := range wrapped(err) {
		a.chain(inner)
	}
}

// wrapped returns what an error wraps or joins.
func wrapped(err error) []error {
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return []error{inner}
		}
	}
	return nil
}

func (a *app) message(what, hint string) {
	fmt.Fprintf(a.streams.Err, "error: %s\n", lines(what))
	if hint != "" {
		fmt.Fprintf(a.streams.Err, "hint: %s\n", lines(a.typed(hint)))
	}
}

// typed makes a command one that can be copied: labctl spelled as it was called, with the lab's name, and kubectl with the
// lab's kubeconfig if this shell has another one.
func (a *app) typed(command string) string {
	parts := strings.Split(command, " && ")
	for i, part := range parts {
		word, rest, _ := strings.Cut(part, " ")
		switch word {
		case "labctl":
			if a.name != provider.DefaultLab && !strings.HasPrefix(rest, "image ") && !strings.Contains(rest, "--name") && !strings.Contains(rest, "--help") {
				rest += " --name " + a.name
			}
			if a.exercises != "" && strings.HasPrefix(rest, "exercise ") && !strings.Contains(rest, "--exercises") {
				rest += " --exercises " + shellWord(a.exercises)
			}
			parts[i] = shellWord(a.self) + " " + rest
		case "kubectl":
			theirs := strings.Contains(rest, "--context ") || strings.HasPrefix(rest, "config ") // a cluster that is not the lab's
			if !theirs && !strings.HasSuffix(os.Getenv("KUBECONFIG"), "/labctl/"+a.name+"/kubeconfig") {
				parts[i] = `eval "$(` + a.typed("labctl env") + `)" && ` + part
			}
		}
	}
	return strings.Join(parts, " && ")
}

// shellWord quotes s if a shell would not take it as one word.
func shellWord(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(safe, r) }) {
		return quote(s)
	}
	return s
}

const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+=:@%-"

// again is the command as it was typed, without one flag.
func (a *app) again(without string) string {
	words := []string{"labctl"}
	for i := 0; i < len(a.args); i++ {
		switch {
		case a.args[i] == without:
			i++
		case strings.HasPrefix(a.args[i], without+"="):
		default:
			words = append(words, a.args[i])
		}
	}
	return strings.Join(words, " ")
}

// unreachable reports whether err is a request that got no answer.
func unreachable(err error) bool {
	var request *url.Error
	var connection *net.OpError
	return errors.As(err, &request) || errors.As(err, &connection) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded)
}

// fileHint is what to look at after an error of the file system.
func fileHint(err error) (string, bool) {
	var path *fs.PathError
	var link *os.LinkError
	name := ""
	switch {
	case errors.As(err, &path):
		name = path.Path
	case errors.As(err, &link):
		name = link.New
	default:
		return "", false
	}
	if errors.Is(err, syscall.ENOSPC) {
		return "df -h " + shellWord(filepath.Dir(name)), true
	}
	return "ls -ld " + shellWord(filepath.Dir(name)), true
}

// root returns the innermost error, of joined ones the first.
func root(err error) error {
	for {
		inner := wrapped(err)
		if len(inner) == 0 {
			return err
		}
		err = inner[0]
	}
}
