package evidence

import (
	"slices"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/fault"
)

func TestMembership_SeedsAreTheStudents(t *testing.T) {
	a := Membership{Student: "07", Class: class(t)}
	b := Membership{Student: "08", Class: class(t)}
	other := a
	other.Class.Nonce = "ANOTHERCLASSOFANOTHERYEAR2"
	seen := map[uint64]bool{}
	for salt := range uint32(1000) {
		seed := a.Seed(salt)
		if !a.Drew(seed) || b.Drew(seed) || other.Drew(seed) {
			t.Fatalf("seed %d of salt %d: drawn by a %t, by b %t, in another class %t", seed, salt, a.Drew(seed), b.Drew(seed), other.Drew(seed))
		}
		if seen[seed] {
			t.Fatalf("seed %d comes twice", seed)
		}
		seen[seed] = true
	}
}

func TestOrder_FollowsFromTheSeedAlone(t *testing.T) {
	given := []fault.Mode{fault.Kill, fault.Graceful, fault.ForceDelete}
	turned := []fault.Mode{fault.Graceful, fault.ForceDelete, fault.Kill}
	orders := map[string]bool{}
	for seed := range uint64(100) {
		first := Order(given, seed)
		if !slices.Equal(first, Order(turned, seed)) || !slices.Equal(first, Order(first, seed)) {
			t.Fatalf("seed %d: the order depends on what was given", seed)
		}
		orders[string(first[0])+string(first[1])] = true
	}
	if len(orders) != 6 {
		t.Errorf("%d of 6 orders came up", len(orders))
	}
	if given[0] != fault.Kill {
		t.Error("what was given was changed")
	}
}

func TestClass_RefusesWhatIsNone(t *testing.T) {
	for _, name := range []string{"", " x", "a\nb", "\x1b[31m", string(make([]byte, 100))} {
		if _, err := NewClass(name, time.Now()); err == nil {
			t.Errorf("the name %q is taken", name)
		}
	}
	for _, id := range []string{"", "-x", "a b", "a/b", "../a", "ä"} {
		if CheckStudent(id) == nil {
			t.Errorf("the ID %q is taken", id)
		}
	}
	if _, err := ReadClass([]byte(`{"schema":"lab/v1","kind":"Class","name":"a","nonce":"short"}`)); err == nil {
		t.Error("a short nonce is taken")
	}
}
