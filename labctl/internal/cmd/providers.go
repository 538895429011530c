package cmd

import (
	"fmt"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/embedded"
)

// providers is the table of places that a lab can run, in the order in which `auto` tries them.
func providers() []provider.Provider {
	return []provider.Provider{embedded.Provider{}}
}

// choose returns the provider of that name and why it is taken.
func (a *app) choose(name string) (provider.Provider, string, error) {
	if name == "auto" {
		return a.providers[0], "chosen by auto: it needs neither Docker nor root", nil
	}
	for _, p := range a.providers {
		if p.Name() == name {
			return p, "as asked for", nil
		}
	}
	return nil, "", &provider.Problem{Err: fmt.Errorf("provider %q is not available in this version; the only one is embedded", name), Hint: "labctl up --provider embedded"}
}
