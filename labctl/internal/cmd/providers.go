package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/embedded"
	"academy.example/lab/labctl/internal/provider/existing"
	"academy.example/lab/labctl/internal/provider/home"
	"academy.example/lab/labctl/internal/provider/kind"
)

// providers is the table of places that a lab can run, in the order in which `auto` tries them.
func providers() []provider.Provider {
	return []provider.Provider{embedded.Provider{}, &kind.Provider{}, existing.Provider{}}
}

// home returns the provider on which the lab runs, and an error too if another version of labctl made it. If none has it, the error is of the one that has something to tell, or
// else of the first.
func (a *app) home(ctx context.Context) (provider.Provider, error) {
	var first error
	for _, p := range a.providers {
		_, err := p.Find(ctx, a.name)
		switch {
		case err == nil:
			at, err := home.New(a.name)
			if err == nil {
				err = at.CheckVersion(provider.Version())
			}
			return p, err
		case !errors.Is(err, provider.ErrNoLab):
			return nil, err
		case first == nil:
			first = err
		}
	}
	return nil, first
}

// choose returns the provider of that name and why it is taken. A lab that is up already stays where it is.
func (a *app) choose(ctx context.Context, name string) (provider.Provider, string, error) {
	if name == "auto" {
		p, err := a.home(ctx)
		if p != nil && err != nil {
			return nil, "", err
		}
		if p != nil && p != a.providers[0] {
			return p, "chosen by auto: the lab is up there", nil
		}
		return a.providers[0], "chosen by auto: it needs neither Docker nor root", nil
	}
	for _, p := range a.providers {
		if p.Name() != name {
			continue
		}
		on, err := a.home(ctx)
		if on != nil && err != nil {
			return nil, "", err
		}
		if on != nil && on != p {
			return nil, "", &provider.Problem{Err: fmt.Errorf("the lab %s is up already, on %s", a.name, on.Name()), Hint: "labctl down && labctl up --provider " + name}
		}
		return p, "as asked for", nil
	}
	return nil, "", &provider.Problem{Err: fmt.Errorf("provider %q is not available in this version; there are %s", name, strings.Join(a.providerNames(), " and ")), Hint: "labctl up --provider embedded"}
}

func (a *app) providerNames() []string {
	var names []string
	for _, p := range a.providers {
		names = append(names, p.Name())
	}
	return names
}

// examined returns the provider that doctor looks at: as named, or where the lab is up, or what `up` would take.
func (a *app) examined(ctx context.Context, name string) (provider.Provider, error) {
	for _, p := range a.providers {
		if p.Name() == name {
			return p, nil
		}
	}
	p, _, err := a.choose(ctx, name)
	return p, err
}
