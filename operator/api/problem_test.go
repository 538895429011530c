package api

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
)

func TestProblems(t *testing.T) {
	a, b := Problem{"a is wrong", "type b"}, Problem{What: "b is wrong"}
	for name, c := range map[string]struct {
		err  error
		want []Problem
	}{
		"none":    {nil, nil},
		"one":     {a, []Problem{a}},
		"joined":  {errors.Join(a, errors.Join(b, a)), []Problem{a, b, a}},
		"wrapped": {fmt.Errorf("start: %w", a), []Problem{{"start: a is wrong", "type b"}}},
		"foreign": {errors.New("no route"), []Problem{{What: "no route"}}},
	} {
		if got := Problems(c.err); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
