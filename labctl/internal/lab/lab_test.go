package lab

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"academy.example/lab/labctl/internal/provider"
)

func TestWait(t *testing.T) {
	for _, c := range []struct {
		name string
		ask  func(n int) (bool, string, error)
		want string // part of the error; "" for none
		said []string
	}{
		{"done at the third", func(n int) (bool, string, error) { return n == 3, "waiting for it", nil }, "", []string{"waiting for it (at most 1m0s)"}},
		{"failures pass", func(n int) (bool, string, error) {
			if n < 3 {
				return false, "", errors.New("refused")
			}
			return true, "", nil
		}, "", []string{"waiting for the API server (at most 1m0s)"}},
		{"a problem ends it", func(int) (bool, string, error) {
			return false, "", &provider.Problem{Err: errors.New("there is no Deployment")}
		}, "there is no Deployment", nil},
		{"the limit names what was waited for and the last failure", func(int) (bool, string, error) { return false, "", errors.New("refused") },
			"gave up after 1m0s: waiting for the API server: refused", []string{"waiting for the API server (at most 1m0s)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var said []string
				l := &Lab{Say: func(s string) { said = append(said, s) }}
				n := 0
				err := l.wait(t.Context(), time.Minute, func(context.Context) (bool, string, error) { n++; return c.ask(n) })
				if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
				if strings.Join(said, "|") != strings.Join(c.said, "|") {
					t.Errorf("said %q, want %q", said, c.said)
				}
			})
		})
	}
}

func TestWait_AnInterruptEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		err := (&Lab{Say: func(string) {}}).wait(ctx, time.Minute, func(context.Context) (bool, string, error) { return false, "waiting", nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the cancellation", err)
		}
	})
}
