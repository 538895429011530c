package timeline

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "",
		"plain – ümläut 日本":    "plain – ümläut 日本",
		"\x1b[2Jgone":          `\x1b[2Jgone`,
		"two\nlines\tand\r":    `two\nlines\tand\x0d`,
		"bell\a del\x7f":       `bell\x07 del\x7f`,
		"csi\u009b1m":          `csi\u009b1m`,
		"bidi\u202eback":       `bidi\u202eback`,
		"not utf-8 \xff\xc3":   `not utf-8 \xff\xc3`,
		"tag\U000e0001":        `tag\U000e0001`,
		"no-break\u00a0\u200b": `no-break\u00a0\u200b`,
	} {
		if got := Visible(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// Every text of every part is made visible, also of those that are added later.
func TestVisible_LeavesNoTextOfAnEventOut(t *testing.T) {
	const evil = "a\x1b[31mb"
	e := Event{Kind: FaultIssued, Note: evil, Lease: &Lease{Holder: evil, ResourceVersion: evil}, Pod: &Pod{Name: evil, UID: evil, Hostname: evil, Phase: evil},
		Process: &Process{Pod: evil, UID: evil}, Work: &Work{Object: evil, Holder: evil}, Log: &Log{Pod: evil, UID: evil, Level: evil, Message: evil, Identity: evil, Raw: evil},
		Request: &Request{Verb: evil, Pod: evil, UID: evil}, Fault: &Fault{Mode: evil, Pod: evil, UID: evil, Kubectl: evil, Standbys: []string{"a", evil}, StandbyUIDs: []string{evil}}}
	before, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	clean, err := json.Marshal(e.Visible())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(clean), `\u001b`) {
		t.Errorf("got %s", clean)
	}
	after, err := json.Marshal(e)
	if err != nil || string(after) != string(before) {
		t.Errorf("the event itself was changed: %s, error %v", after, err)
	}
	holder := evil
	trial, err := json.Marshal(Trial{Mode: evil, Class: evil, Winner: evil, HolderBefore: evil, HolderAfter: &holder, Kubectl: evil, Void: evil, Errors: []string{evil}}.Visible())
	if err != nil || strings.Contains(string(trial), `\u001b`) || holder != evil {
		t.Errorf("got %s, error %v", trial, err)
	}
}

func TestVisible_WhatIsVisibleIsNotCopied(t *testing.T) {
	e := Event{Kind: LeaseSeen, Lease: &Lease{Holder: "pod-a"}, Fault: &Fault{Standbys: []string{"b"}}}
	if got := e.Visible(); got.Lease != e.Lease || got.Fault != e.Fault {
		t.Error("a part was copied although nothing had to be changed")
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("\x1b]0;title\a")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range Visible(text) {
			if !unicode.IsPrint(r) {
				t.Errorf("%q has %q in it", text, r)
			}
		}
	})
}
