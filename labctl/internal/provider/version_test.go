package provider

import "testing"

func TestSameVersion(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"v1.2.0", "v1.2.0", true},
		{"v1.2.0", "v1.3.0", false},
		{"v0.0.0-20261130115710-9bc9074c7c31", "v0.0.0-20261130120901-b713490f2b62", false},
		{"v1.2.0", "dev", true},
		{"v0.0.0-20261130120901-b713490f2b62+dirty", "v1.2.0", true},
		{"", "v1.2.0", false},
	} {
		if got := SameVersion(c.a, c.b); got != c.want || SameVersion(c.b, c.a) != got {
			t.Errorf("%q and %q: got %t, want %t both ways", c.a, c.b, got, c.want)
		}
	}
}
