//go:build !linux

package lean

// releaseExecutable does nothing: resident pages of the executable cannot be listed here.
func releaseExecutable() {}
