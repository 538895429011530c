package cmd

import (
	"debug/buildinfo"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/report"
)

// program is one of the kit's programs and what it was built from; Missing says why that is not known.
type program struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Go      string `json:"go,omitempty"`
	// Libraries are the versions of those that decide what the program does, by module path.
	Libraries map[string]string `json:"libraries,omitempty"`
	Missing   string            `json:"missing,omitempty"`
}

// tells are the programs beside labctl and itself, and the libraries that are told of each.
var tells = []struct {
	name      string
	libraries []string
}{
	{"labctl", []string{"k8s.io/client-go", "sigs.k8s.io/kind"}},
	{"academy-operator", []string{"k8s.io/client-go"}},
	{"academy-mutants", []string{"k8s.io/client-go"}},
	{"academy-cluster", []string{"k8s.io/kubernetes", "go.etcd.io/etcd/server/v3"}},
	{"kubectl", []string{"k8s.io/kubectl"}},
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of labctl and of the programs beside it",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			programs, err := programsBeside()
			if err != nil {
				return err
			}
			if a.json {
				return report.JSON(a.streams.Out, map[string]any{"schema": report.Schema, "kind": "Version", "labctl": provider.Version(), "go": runtime.Version(),
					"platform": runtime.GOOS + "/" + runtime.GOARCH, "programs": programs})
			}
			return printVersions(a.streams.Out, programs)
		},
	}
}

// programsBeside reads what each of the kit's programs was built from. None of them is run.
func programsBeside() ([]program, error) {
	dir, err := provider.ProgramDir("")
	if err != nil {
		return nil, err
	}
	var all []program
	for _, one := range tells {
		p := program{Name: one.name}
		info, err := buildinfo.ReadFile(filepath.Join(dir, one.name))
		if one.name == "labctl" { // which is running, under whatever name
			info, _ = debug.ReadBuildInfo()
			err = nil
		}
		switch {
		case err != nil:
			p.Missing = "not beside labctl, in " + dir
		case info != nil:
			p.Version, p.Go, p.Libraries = provider.VersionOf(info), info.GoVersion, libraries(info, one.libraries)
		}
		all = append(all, p)
	}
	return all, nil
}

// libraries returns the versions of the named modules that the program was built with.
func libraries(info *debug.BuildInfo, names []string) map[string]string {
	found := map[string]string{}
	for _, name := range names {
		for _, m := range info.Deps {
			if m.Path == name {
				if m.Replace != nil {
					m = m.Replace
				}
				found[name] = m.Version
			}
		}
	}
	return found
}

func printVersions(out io.Writer, programs []program) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i, p := range programs {
		if p.Missing != "" {
			fmt.Fprintf(table, "%s\t%s\n", p.Name, p.Missing)
			continue
		}
		var with []string
		for _, name := range tells[i].libraries {
			if version := p.Libraries[name]; version != "" {
				with = append(with, name+" "+version)
			}
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", p.Name, p.Version, p.Go, strings.Join(with, ", "))
	}
	fmt.Fprintf(table, "platform\t%s/%s\n", runtime.GOOS, runtime.GOARCH)
	return table.Flush()
}
