// Package checklists holds the checklists' texts and fields, so that labctl alone can print, fill and check them.
package checklists

import "embed"

// FS holds every checklist: NAME.md to print or fill in, and NAME.yaml with its fields.
//
//go:embed *.md *.yaml
var FS embed.FS
