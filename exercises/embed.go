// Package exercises holds the exercises' texts and data, so that labctl alone can give the course.
package exercises

import "embed"

// FS holds every exercise's folder without its testdata.
//
//go:embed */README.md */exercise.yaml */hints.md */solution.md
var FS embed.FS
