package main

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"strings"

	"k8s.io/klog/v2"

	"academy.example/lab/operator/api"
)

// newLog returns a logger that writes JSON lines with times in UTC, to the nanosecond.
func newLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				a.Value = slog.TimeValue(a.Value.Time().UTC())
			}
			return a
		},
	}))
}

// sayWarningsOfLibraries sends what client-go logs through klog's global functions to log, warnings and errors only.
// klog keeps severities apart only in its text output, which is why this reads text.
func sayWarningsOfLibraries(log *slog.Logger) {
	settings := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(settings)
	for name, value := range map[string]string{
		"logtostderr": "false", "stderrthreshold": "FATAL", // to the writers below instead
		"one_output": "true", "skip_headers": "true", // each line once, without klog's own time and level
	} {
		_ = settings.Set(name, value) // the flag set panics on a value it does not know
	}
	klog.SetOutput(io.Discard)
	klog.SetOutputBySeverity("WARNING", libraryLines{log, slog.LevelWarn})
	klog.SetOutputBySeverity("ERROR", libraryLines{log, slog.LevelError})
}

// libraryLines logs each text written to it as one line.
type libraryLines struct {
	log   *slog.Logger
	level slog.Level
}

func (l libraryLines) Write(text []byte) (int, error) {
	l.log.Log(context.Background(), l.level, api.MessageLibrary, api.KeyText, strings.TrimSpace(string(text)))
	return len(text), nil
}
