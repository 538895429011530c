package lean

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// releaseExecutable unmaps the resident pages of the executable's read-only segments. The executable is shared by
// all processes of a cluster, but is counted in full for each; most of it is touched once, by package
// initialisation and the kernel's habit of mapping a page's neighbours. Nothing is lost if it fails.
func releaseExecutable() {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		if start, length, ok := readOnlySegment(lines.Text(), exe); ok {
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, start, length, syscall.MADV_DONTNEED)
		}
	}
}

// readOnlySegment parses a line of /proc/PID/maps: `start-end perms offset device inode path`. A writable segment
// is not for release, as its pages hold what the process wrote.
func readOnlySegment(line, exe string) (start, length uintptr, ok bool) {
	fields := strings.Fields(line)
	if len(fields) != 6 || fields[5] != exe || strings.Contains(fields[1], "w") {
		return 0, 0, false
	}
	from, to, found := strings.Cut(fields[0], "-")
	if !found {
		return 0, 0, false
	}
	low, err := strconv.ParseUint(from, 16, 64)
	if err != nil {
		return 0, 0, false
	}
	high, err := strconv.ParseUint(to, 16, 64)
	if err != nil || high <= low {
		return 0, 0, false
	}
	return uintptr(low), uintptr(high - low), true
}
