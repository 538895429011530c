package streams

import (
	"bufio"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"academy.example/lab/labctl/cluster/internal/process"
)

// written makes a log with the given lines, and returns it open.
func written(t *testing.T, name string, lines ...string) (*process.Log, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	log, err := process.OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	for i, line := range lines {
		stream := "stdout"
		if i%2 == 1 {
			stream = "stderr"
		}
		if _, err := log.Stream(stream).Write([]byte(line + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	return log, path
}

func TestLogs(t *testing.T) {
	s := newSite(t)
	_, s.target.Log = written(t, "1.log", "one", "two", "three")
	_, s.target.PreviousLog = written(t, "0.log", "before")
	client := s.client(t)
	for query, want := range map[string]string{
		"":                               "one\ntwo\nthree\n",
		"tailLines=2":                    "two\nthree\n",
		"tailLines=0":                    "",
		"limitBytes=5":                   "one\nt",
		"stream=Stderr":                  "two\n",
		"previous=true":                  "before\n",
		"previous=true&follow=true":      "before\n",
		"sinceSeconds=3600":              "one\ntwo\nthree\n",
		"sinceTime=2999-01-01T00:00:00Z": "",
	} {
		response, err := client.Get(s.url + "/containerLogs/space/subject/main?" + query)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || string(data) != want {
			t.Errorf("logs?%s = %s %q, %v, want %q", query, response.Status, data, err, want)
		}
	}
}

func TestLogsWithTimestamps(t *testing.T) {
	s := newSite(t)
	_, s.target.Log = written(t, "0.log", "one")
	response, err := s.client(t).Get(s.url + "/containerLogs/space/subject/main?timestamps=true")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	const layout = "2006-01-02T15:04:05.000000000Z"
	if at, err := time.Parse(layout, string(data[:len(layout)])); err != nil || time.Since(at) > time.Minute || string(data[len(layout):]) != " one\n" {
		t.Errorf("logs = %q, %v", data, err)
	}
}

func TestFollowEndsWithTheContainer(t *testing.T) {
	s := newSite(t)
	log, path := written(t, "0.log", "one")
	s.target.Log = path
	response, err := s.client(t).Get(s.url + "/containerLogs/space/subject/main?follow=true&tailLines=1")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	scanner := bufio.NewScanner(response.Body)
	for _, line := range []string{"one", "two", "three"} {
		if !scanner.Scan() || scanner.Text() != line {
			t.Fatalf("line %q, %v, want %q", scanner.Text(), scanner.Err(), line)
		}
		next := map[string]string{"one": "two\n", "two": "three\n"}[line]
		if _, err := log.Stream("stdout").Write([]byte(next)); err != nil {
			t.Fatal(err)
		}
	}
	s.end()
	if scanner.Scan() {
		t.Errorf("line %q after the end", scanner.Text())
	}
}

func TestParseLogRequest(t *testing.T) {
	now := time.Unix(1000, 0)
	for query, problem := range map[string]string{
		"follow=maybe":     `follow: "maybe" is neither true nor false`,
		"tailLines=-1":     `tailLines: "-1" is not a count`,
		"limitBytes=x":     `limitBytes: "x" is not a count`,
		"stream=Both":      `stream: "Both" is not All, Stdout or Stderr`,
		"sinceSeconds=1.5": `sinceSeconds: "1.5" is not a count`,
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseLogRequest(values, now); err == nil || err.Error() != problem {
			t.Errorf("%s: error %v, want %s", query, err, problem)
		}
	}
	values := url.Values{"sinceSeconds": {"60"}, "follow": {"true"}, "timestamps": {"true"}}
	r, err := parseLogRequest(values, now)
	if err != nil || !r.options.Since.Equal(now.Add(-time.Minute)) || !r.options.Follow || !r.options.Timestamp || r.previous {
		t.Errorf("request = %+v, %v", r, err)
	}
}
