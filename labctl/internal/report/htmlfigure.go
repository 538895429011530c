package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// figure is a picture with its text and its table. Horizontally it is drawn in percent of its width, so that it fits any
// screen while its letters keep their size; vertically in pixels.
type figure struct {
	ID, Title string
	Desc      string // the same for who can't see it
	Height    int
	Shapes    []shape
	Keys      []key
	Table     table
	Note      string
}

// shape is one mark of a picture. Of a rect, X2 and Y2 are width and height; of a curve, Text is its path on a square of 1000.
type shape struct {
	Kind                string
	X, Y, X2, Y2        string
	Class, Anchor, Text string
}

// key explains one kind of mark.
type key struct{ Class, Text string }

// table holds the figures of a picture.
type table struct {
	Head []string
	Rows [][]string
}

func (t *table) add(cells ...string) { t.Rows = append(t.Rows, cells) }

// mostWords bounds how many rows are read out as the text of a picture; the table has all of them.
const mostWords = 12

// words are the table's rows as one text.
func (t *table) words() string {
	var rows []string
	for i, row := range t.Rows {
		if i == mostWords {
			rows = append(rows, fmt.Sprintf("and %d more in the table", len(t.Rows)-i))
			break
		}
		var cells []string
		for j, cell := range row {
			if j == 0 {
				cells = append(cells, cell)
			} else if cell != "" {
				cells = append(cells, t.Head[j]+" "+cell)
			}
		}
		rows = append(rows, strings.Join(cells, ", "))
	}
	return strings.Join(rows, "; ") + "."
}

// axis maps values to the width of a picture, in percent of it.
type axis struct{ from, to, left, right float64 }

// mostAxis bounds what is drawn: a year in seconds, and more.
const mostAxis = 1e9

// newAxis is not ok for a range that can't be drawn.
func newAxis(from, to, left, right float64) (a axis, ok bool) {
	ok = to-from > 1e-9 && math.Abs(from) < mostAxis && math.Abs(to) < mostAxis // and so no NaN
	return axis{from, to, left, right}, ok
}

// at is where a value lies; what is outside lies at the edge.
func (a axis) at(v float64) float64 {
	share := (v - a.from) / (a.to - a.from)
	if !(share > 0) { // or is no number
		share = 0
	}
	return a.left + min(1, share)*(a.right-a.left)
}

// ticks are at most six round values.
func (a axis) ticks() []float64 {
	span := a.to - a.from
	step := math.Pow(10, math.Floor(math.Log10(span)))
	for _, factor := range []float64{0.2, 0.5, 1, 2} {
		if span/(step*factor) <= 5 {
			step *= factor
			break
		}
	}
	var out []float64
	for i := math.Ceil(a.from/step - 1e-9); i*step <= a.to+span*1e-9 && len(out) < 7; i++ {
		out = append(out, i*step)
	}
	return out
}

// axis draws the grid from y to bottom, and the values below.
func (f *figure) axis(a axis, y, bottom int) {
	for _, v := range a.ticks() {
		at := a.at(v)
		f.add(shape{Kind: "line", X: percent(at), X2: percent(at), Y: fmt.Sprint(y), Y2: fmt.Sprint(bottom), Class: "grid"})
		anchor := "middle"
		switch {
		case at < 5:
			anchor = "start"
		case at > 95:
			anchor = "end"
		}
		f.text("tick", at, anchor, bottom+16, strings.Replace(strconv.FormatFloat(math.Round(v*1e6)/1e6+0, 'g', 7, 64), "-", "−", 1)+" s") // + 0: no negative zero
	}
}

func (f *figure) add(s shape) { f.Shapes = append(f.Shapes, s) }

// thin is the least width of a bar that can be seen, in percent.
const thin = 0.35

// rect draws a bar from one value to another.
func (f *figure) rect(class string, a axis, from, to float64, y, height int) {
	left, right := a.at(from), a.at(to)
	if right-left < thin {
		left = min(left, a.right-thin)
		right = left + thin
	}
	f.add(shape{Kind: "rect", X: percent(left), X2: percent(right - left), Y: fmt.Sprint(y), Y2: fmt.Sprint(height), Class: class})
}

// upright draws a line at a value.
func (f *figure) upright(class string, a axis, v float64, y, bottom int) {
	f.add(shape{Kind: "line", X: percent(a.at(v)), X2: percent(a.at(v)), Y: fmt.Sprint(y), Y2: fmt.Sprint(bottom), Class: class})
}

func (f *figure) text(class string, at float64, anchor string, y int, text string) {
	f.add(shape{Kind: "text", X: percent(at), Y: fmt.Sprint(y), Class: class, Anchor: anchor, Text: text})
}

// curve draws a line through points in [0, 1]², given from the lower left corner of a.
func (f *figure) curve(class string, a axis, y, height int, points [][2]float64) {
	var path strings.Builder
	for i, p := range points {
		letter := "L"
		if i == 0 {
			letter = "M"
		}
		fmt.Fprintf(&path, "%s%s %s", letter, short(1000*p[0]), short(1000*(1-p[1])))
	}
	f.add(shape{Kind: "curve", X: percent(a.left), X2: percent(a.right - a.left), Y: fmt.Sprint(y), Y2: fmt.Sprint(height), Class: class, Text: path.String()})
}

func percent(v float64) string { return short(v) + "%" }

// short writes a number with two digits after the point at most.
func short(v float64) string { return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) }

// two writes seconds with two digits after the point, and a true minus; nothing has no sign.
func two(v float64) string {
	return strings.Replace(strings.Replace(fmt.Sprintf("%.2f s", v), "-0.00", "0.00", 1), "-", "−", 1)
}

// clip keeps a name short enough for a picture.
func clip(name string) string {
	const most = 24
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return name
}

func list(words []string) string {
	if len(words) == 0 {
		return "not recorded"
	}
	return strings.Join(words, ", ")
}
