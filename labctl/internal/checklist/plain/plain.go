// Package plain reads what people typed: text as any editor may have saved it, and numbers as people write them.
package plain

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Text is the content of a text file, with what is needed to write it back as it was.
type Text struct {
	Lines    []string // without line ends, otherwise as typed
	ending   string   // between lines
	encoding encoding
}

type encoding int

const (
	utf8Plain encoding = iota
	utf8Mark
	utf16Little
	utf16Big
)

// Errors of Decode.
var (
	ErrEmpty  = errors.New("the file is empty")
	ErrBinary = errors.New("this is no text file")
)

// mostBytes bounds what is taken for a file that a person filled in.
const mostBytes = 1 << 20

// Decode reads a text file: UTF-8 with or without a byte order mark, or UTF-16; lines that end in LF, CRLF or CR.
func Decode(data []byte) (Text, error) {
	if len(data) > mostBytes {
		return Text{}, fmt.Errorf("%w: it has %d bytes", ErrBinary, len(data))
	}
	t := Text{ending: "\n"}
	s, err := t.characters(data)
	if err != nil {
		return t, err
	}
	if strings.TrimSpace(s) == "" {
		return t, ErrEmpty
	}
	for i, r := range s {
		if r < ' ' && !strings.ContainsRune("\t\n\r\f", r) || r == utf8.RuneError {
			return t, fmt.Errorf("%w: byte %d is not a character", ErrBinary, i)
		}
	}
	switch {
	case strings.Contains(s, "\r\n"):
		t.ending = "\r\n"
	case !strings.Contains(s, "\n") && strings.Contains(s, "\r"):
		t.ending = "\r"
	}
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
	t.Lines = strings.Split(s, "\n")
	return t, nil
}

// characters tells the encoding by the byte order mark, or by where the zero bytes of plain letters are.
func (t *Text) characters(data []byte) (string, error) {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		t.encoding, data = utf8Mark, data[3:]
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		t.encoding, order, data = utf16Little, binary.LittleEndian, data[2:]
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		t.encoding, order, data = utf16Big, binary.BigEndian, data[2:]
	}
	if order == nil {
		if !utf8.Valid(data) {
			return "", fmt.Errorf("%w: it is neither UTF-8 nor UTF-16", ErrBinary)
		}
		return string(data), nil
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return string(utf16.Decode(units)), nil
}

// Encode writes the text back in the encoding and with the line ends that it came in.
func (t Text) Encode() []byte {
	s := strings.Join(t.Lines, t.ending)
	switch t.encoding {
	case utf8Mark:
		return []byte("\xef\xbb\xbf" + s)
	case utf16Little:
		return units(binary.LittleEndian, s)
	case utf16Big:
		return units(binary.BigEndian, s)
	default:
		return []byte(s)
	}
}

func units(order binary.AppendByteOrder, s string) []byte {
	out := order.AppendUint16(nil, 0xfeff)
	for _, u := range utf16.Encode([]rune(s)) {
		out = order.AppendUint16(out, u)
	}
	return out
}

// typed maps what an editor's autocorrection makes of quotes, dashes, arrows and spaces back, and takes emphasis away.
var typed = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "‘", "'", "’", "'", "–", "-", "—", "-", "−", "-", "‑", "-",
	"→", "->", "=>", "->", "\u00a0", " ", "\u202f", " ", "\u2009", " ", "\u200b", "", "\ufeff", "", "…", "...", "**", "", "`", "")

// Typed undoes what an editor's autocorrection makes of quotes, dashes, arrows and spaces, and takes the emphasis of Markdown off.
func Typed(s string) string { return strings.TrimSpace(typed.Replace(s)) }

// Number is a figure as it was written.
type Number struct {
	Value    float64 // in seconds if it is a duration
	Decimals int     // how many were written
}

var number = regexp.MustCompile(`^[~≈]?\s*(-?\d{1,6}(?:[.,]\d{1,9})?)\s*(ms|milliseconds?|s|sec|secs|seconds?)?\b`)

// ParseNumber reads the number that a text begins with: 1.26, 1,26 s or 1260 ms.
func ParseNumber(s string) (Number, error) {
	found := number.FindStringSubmatch(Typed(s))
	if found == nil {
		return Number{}, fmt.Errorf("%q is not a number", s)
	}
	digits := strings.ReplaceAll(found[1], ",", ".")
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return Number{}, fmt.Errorf("%q is not a number", s)
	}
	n := Number{Value: v}
	if _, after, ok := strings.Cut(digits, "."); ok {
		n.Decimals = len(after)
	}
	if strings.HasPrefix(found[2], "m") {
		n.Value, n.Decimals = v/1000, n.Decimals+3
	}
	return n, nil
}

// String writes it with the decimals that it was given.
func (n Number) String() string { return strconv.FormatFloat(n.Value, 'f', n.Decimals, 64) }

// Is reports whether the number is what v becomes when it is rounded, or cut off, to as many decimals.
func (n Number) Is(v float64) bool {
	step := math.Pow(10, -float64(n.Decimals))
	const hair = 1e-9
	return math.Abs(n.Value-v) <= step/2+hair || v >= n.Value && v < n.Value+step
}
