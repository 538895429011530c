package lean

import "testing"

func TestReadOnlySegment(t *testing.T) {
	for line, want := range map[string]bool{
		"00400000-02c12000 r-xp 00000000 fe:00 1 /bin/x":         true,
		"02c12000-05c00000 r--p 02812000 fe:00 1 /bin/x":         true,
		"05c00000-06000000 rw-p 05800000 fe:00 1 /bin/x":         false,
		"7f0000000000-7f0000001000 r--p 00000000 fe:00 2 /lib/y": false,
		"c000000000-c000400000 rw-p 00000000 00:00 0":            false,
		"garbage-garbage r-xp 00000000 fe:00 1 /bin/x":           false,
	} {
		if _, _, got := readOnlySegment(line, "/bin/x"); got != want {
			t.Errorf("%s: got %v, want %v", line, got, want)
		}
	}
}

func TestReleasedExecutableStillRuns(t *testing.T) {
	releaseExecutable()
	if start, length, _ := readOnlySegment("1000-3000 r-xp 0 fe:00 1 /bin/x", "/bin/x"); start != 0x1000 || length != 0x2000 {
		t.Errorf("got %#x and %#x", start, length)
	}
}
