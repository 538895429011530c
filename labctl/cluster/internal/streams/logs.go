package streams

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-client/pkg/logs"
)

// logRequest is what the query of a log request asks for.
type logRequest struct {
	options  logs.LogOptions
	previous bool
	stream   string // All, Stdout or Stderr
}

func (s *Server) logs(w http.ResponseWriter, r *http.Request) {
	request, err := parseLogRequest(r.URL.Query(), time.Now())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	target := s.find(w, r)
	if target == nil {
		return
	}
	path := target.Log
	if request.previous {
		path = target.PreviousLog
	}
	if _, err := os.Stat(path); path == "" || err != nil {
		text := fmt.Sprintf("container %q in pod %q is waiting to start: %s", target.Container, target.Pod, target.Waiting)
		if request.previous {
			text = fmt.Sprintf("previous terminated container %q in pod %q not found", target.Container, target.Pod)
		}
		http.Error(w, text, http.StatusBadRequest)
		return
	}
	if request.previous {
		request.options.Follow = false // nothing more is written to it
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	out := &flushWriter{w: w, flush: http.NewResponseController(w)}
	var stdout, stderr io.Writer = out, out
	switch request.stream {
	case "Stdout":
		stderr = nil
	case "Stderr":
		stdout = nil
	}
	if err := out.flush.Flush(); err != nil {
		return // the client is gone
	}
	running := runState{lookup: func() (*Target, error) {
		return s.lookup(r.PathValue("namespace"), r.PathValue("pod"), "", r.PathValue("container"))
	}}
	if err := logs.ReadLogs(r.Context(), path, target.ID, &request.options, running, stdout, stderr); err != nil && r.Context().Err() == nil {
		_, _ = fmt.Fprintln(w, err) // the header is sent, so this is where it can be told
	}
}

// Tail is the end of the log at path: at most so many lines, and of them at most so many bytes. What cannot be read is "".
func Tail(path string, lines int64, bytes int) string {
	var out strings.Builder
	options := &logs.LogOptions{TailLines: &lines}
	if err := logs.ReadLogs(context.Background(), path, "", options, nil, &out, &out); err != nil {
		return ""
	}
	text := out.String()
	return strings.ToValidUTF8(text[max(len(text)-bytes, 0):], "")
}

func parseLogRequest(query url.Values, now time.Time) (*logRequest, error) {
	r := &logRequest{stream: query.Get("stream")}
	var problem error
	flag := func(name string) bool {
		text := query.Get(name)
		value, err := strconv.ParseBool(text)
		if text != "" && err != nil {
			problem = fmt.Errorf("%s: %q is neither true nor false", name, text)
		}
		return value
	}
	number := func(name string) *int64 {
		text := query.Get(name)
		if text == "" {
			return nil
		}
		value, err := strconv.ParseInt(text, 10, 64)
		if err != nil || value < 0 {
			problem = fmt.Errorf("%s: %q is not a count", name, text)
		}
		return &value
	}
	r.previous = flag("previous")
	r.options = logs.LogOptions{
		Follow: flag("follow"), Timestamp: flag("timestamps"), TailLines: number("tailLines"), LimitBytes: number("limitBytes"),
	}
	if seconds := number("sinceSeconds"); seconds != nil {
		r.options.Since = now.Add(-time.Duration(*seconds) * time.Second)
	}
	if text := query.Get("sinceTime"); text != "" {
		since, err := time.Parse(time.RFC3339, text)
		if err != nil {
			problem = fmt.Errorf("sinceTime: %w", err)
		}
		r.options.Since = since
	}
	switch r.stream {
	case "", "All", "Stdout", "Stderr":
	default:
		problem = fmt.Errorf("stream: %q is not All, Stdout or Stderr", r.stream)
	}
	return r, problem
}

// flushWriter sends each line on at once.
type flushWriter struct {
	w     io.Writer
	flush *http.ResponseController
}

// Write passes data on and flushes.
func (f *flushWriter) Write(data []byte) (int, error) {
	n, err := f.w.Write(data)
	if err != nil {
		return n, err
	}
	return n, f.flush.Flush()
}

// runState answers the one question that reading logs asks of a container runtime: does it still run?
type runState struct {
	internalapi.RuntimeService // never called
	lookup                     func() (*Target, error)
}

// ContainerStatus says that the run with this id goes on, or that it has ended.
func (s runState) ContainerStatus(_ context.Context, id string, _ bool) (*runtimeapi.ContainerStatusResponse, error) {
	state := runtimeapi.ContainerState_CONTAINER_EXITED
	if target, err := s.lookup(); err == nil && target.ID == id && target.Running != nil {
		state = runtimeapi.ContainerState_CONTAINER_RUNNING
	}
	return &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{Id: id, State: state}}, nil
}
