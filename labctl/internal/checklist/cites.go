package checklist

import (
	"slices"

	"academy.example/lab/labctl/internal/checklist/plain"
)

// Cites returns the names of the runs that a filled checklist names, each once, in the order of its fields.
func (l List) Cites(text plain.Text) []string {
	var names []string
	entries := read(text.Lines)
	for _, f := range l.Fields {
		for _, e := range entries[f.ID] {
			if name := runName.FindString(e.value); f.Kind == Run && name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
