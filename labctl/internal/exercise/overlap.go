package exercise

import (
	"fmt"

	"academy.example/lab/labctl/internal/exercise/recorded"
)

// Overlap says whether two leaders worked at a time; the empty one asks for neither.
type Overlap string

// What a measured question may ask of two leaders.
const (
	OverlapNone Overlap = "none"
	OverlapSome Overlap = "some"
)

// String tells what is asked for as the end of a list; empty if nothing is.
func (o Overlap) String() string {
	switch o {
	case OverlapNone:
		return ", no two leaders"
	case OverlapSome:
		return ", two leaders"
	default:
		return ""
	}
}

// differs says in what the trial is not as asked; empty if it is.
func (o Overlap) differs(t recorded.Trial) (why string, unknown bool) {
	switch {
	case o == "":
	case t.OverlapSeconds == nil:
		return "whether two leaders worked was not seen", true
	case o == OverlapNone && *t.OverlapSeconds > 0:
		return fmt.Sprintf("two leaders worked for %.2f s, and none are asked for", *t.OverlapSeconds), false
	case o == OverlapSome && *t.OverlapSeconds == 0:
		return "no two leaders worked at a time, and two are asked for", false
	}
	return "", false
}
