// Package quiet keeps every command but the view from asking the terminal for its colours. Bubble Tea asks when the program
// starts, whatever the program is about to do; Go initialises this package, whose path sorts first, before it. The view
// asks for itself.
package quiet

import "github.com/charmbracelet/lipgloss"

func init() { lipgloss.SetHasDarkBackground(true) }
