package manifests

import "embed"

// Readmission holds what the exercise about the readmission gate needs, in the order of the file names: the kinds of Kueue that
// are looked at, with their fields left open, and one queue with one check.
//
//go:embed readmission/*.yaml
var Readmission embed.FS
