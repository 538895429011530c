package cmd

import (
	"encoding/json"
	"strings"
	"testing"

	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
)

const evil = "pod\x1b[2J\r\nerror: x\u009b31m\x7f"

// control is every character that a terminal would act on.
func control(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 })
}

func TestOutput_NoControlCharacterReachesTheTerminal(t *testing.T) {
	var text strings.Builder
	out := &output{to: &text}
	if n, err := out.Write([]byte("a\tb\n" + evil)); err != nil || n != len("a\tb\n"+evil) || control(text.String()) || !strings.HasPrefix(text.String(), "a\tb\npod\\u001b[2J") {
		t.Errorf("%d, %v: got %q", n, err, text.String())
	}
	text.Reset()
	if err := report.JSON(out, map[string]string{"holder": evil}); err != nil || control(text.String()) {
		t.Errorf("%v: got %q", err, text.String())
	}
	var back map[string]string
	if err := json.Unmarshal([]byte(text.String()), &back); err != nil || back["holder"] != evil {
		t.Errorf("%v: JSON gives back %q", err, back["holder"])
	}
}

func TestStatusAndMessages_PrintNoControlCharacters(t *testing.T) {
	var out, errs strings.Builder
	a := &app{streams: Streams{Out: &out, Err: &errs}, self: "labctl", name: "lab"}
	a.printStatus(lab.Status{Namespace: "ns", Lease: &timeline.Lease{Holder: evil}, Pods: []timeline.Pod{{Name: evil, Phase: evil}}})
	a.message("it is "+evil, "labctl "+evil)
	show := newProgress(&errs)
	show.Say("waiting for " + evil)
	show.Line("trial of " + evil)
	show.Stop()
	for _, text := range []string{out.String(), errs.String()} {
		if control(text) || !strings.Contains(text, `\x1b[2J`) {
			t.Errorf("got %q", text)
		}
	}
	if strings.Contains(out.String(), "\nerror: x") {
		t.Errorf("a holder's name makes a line of its own: %q", out.String())
	}
}
