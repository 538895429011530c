package evidence

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"regexp"
	"slices"
	"time"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/report"
)

// The kinds of a class's file and of the file that says that one was joined.
const (
	KindClass      = "Class"
	KindMembership = "Membership"
)

// Class is what an instructor issues: the nonce goes into each student's random phases and order of modes.
type Class struct {
	Schema   string    `json:"schema"`
	Kind     string    `json:"kind"`
	Name     string    `json:"name"`
	Nonce    string    `json:"nonce"`
	IssuedAt time.Time `json:"issuedAt"`
}

// Membership is a student in a class.
type Membership struct {
	Schema  string `json:"schema"`
	Kind    string `json:"kind"`
	Student string `json:"student"` // an ID of their own choice
	Class   Class  `json:"class"`
}

var (
	classNames = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$`)
	nonces     = regexp.MustCompile(`^[A-Z2-7]{26}$`)
	students   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$`)
)

// NewClass issues a class with a fresh nonce.
func NewClass(name string, now time.Time) (Class, error) {
	c := Class{Schema: report.Schema, Kind: KindClass, Name: name, Nonce: rand.Text(), IssuedAt: now.UTC().Truncate(time.Second)}
	return c, c.Check()
}

// Check says what is wrong with a class.
func (c Class) Check() error {
	switch {
	case c.Schema != report.Schema || c.Kind != KindClass:
		return fmt.Errorf("it is of schema %q and kind %q; a class's file is of %q and %q", c.Schema, c.Kind, report.Schema, KindClass)
	case !classNames.MatchString(c.Name):
		return fmt.Errorf("%q is no name for a class: letters, digits, spaces, dots and dashes, at most 64", c.Name)
	case !nonces.MatchString(c.Nonce):
		return errors.New("it has no nonce of 26 letters and digits")
	}
	return nil
}

// CheckStudent says what is wrong with a student's ID.
func CheckStudent(id string) error {
	if !students.MatchString(id) {
		return fmt.Errorf("%q is no ID for a student: letters, digits, dots and dashes, at most 32", id)
	}
	return nil
}

// ReadClass reads a class's file.
func ReadClass(data []byte) (Class, error) {
	var c Class
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("it is no class's file: %w", err)
	}
	return c, c.Check()
}

// ReadMembership reads the file that says which class was joined.
func ReadMembership(data []byte) (Membership, error) {
	var m Membership
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("it is no membership: %w", err)
	}
	if m.Schema != report.Schema || m.Kind != KindMembership {
		return m, fmt.Errorf("it is of schema %q and kind %q; this labctl reads %q and %q", m.Schema, m.Kind, report.Schema, KindMembership)
	}
	return m, errors.Join(m.Class.Check(), CheckStudent(m.Student))
}

// Seed is a seed of one of the student's runs: its upper half is the salt, which is drawn for each run, and its lower half
// what the nonce, the student and the salt give.
func (m Membership) Seed(salt uint32) uint64 { return uint64(salt)<<32 | uint64(m.tag(salt)) }

// Drew reports whether a seed is one of the student's.
func (m Membership) Drew(seed uint64) bool { return m.Seed(uint32(seed>>32)) == seed }

func (m Membership) tag(salt uint32) uint32 {
	mac := hmac.New(sha256.New, []byte(m.Class.Nonce))
	fmt.Fprintf(mac, "%s\n%d\n", m.Student, salt)
	return binary.BigEndian.Uint32(mac.Sum(nil))
}

// Order is the order in which a seed puts modes, whichever they were given in.
func Order(modes []fault.Mode, seed uint64) []fault.Mode {
	out := slices.Sorted(slices.Values(modes))
	mathrand.New(mathrand.NewPCG(seed, ^seed)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}
