package cmd

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/existing"
)

// existingFlags are those of a cluster that somebody else runs.
type existingFlags struct {
	kubeconfig, context, namespace, operatorImage string
	yes                                           bool
}

func (f *existingFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.context, "context", "", "on an existing cluster: the context to use; no other is ever used")
	c.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "on an existing cluster: the kubeconfig to read, in place of kubectl's; it is not changed")
	c.Flags().StringVar(&f.namespace, "namespace", existing.DefaultNamespace, "on an existing cluster: the namespace that holds all of the lab")
	c.Flags().StringVar(&f.operatorImage, "operator-image", "", "on an existing cluster: the operator's image, one that its nodes can pull")
	c.Flags().BoolVar(&f.yes, "yes", false, "on an existing cluster: do not ask before it is changed")
}

// existingOnly are the flags that mean nothing elsewhere.
var existingOnly = []string{"context", "kubeconfig", "namespace", "operator-image", "yes"}

// ask returns how the provider may ask: on a terminal, once; elsewhere --yes is the answer, or there is none.
func (a *app) ask(c *cobra.Command, yes bool) func(question string) error {
	return func(question string) error {
		if yes {
			return nil
		}
		again := c.CommandPath() + " " + strings.Join(a.args[1:], " ") + " --yes"
		in, ok := a.streams.In.(*os.File)
		if !ok || !term.IsTerminal(int(in.Fd())) {
			return &provider.Problem{Err: fmt.Errorf("the cluster is not on this machine, and nobody can be asked whether to %s", question), Hint: again}
		}
		fmt.Fprintf(a.streams.Err, "This would %s.\nType yes to go on: ", question)
		line, err := bufio.NewReader(in).ReadString('\n')
		if strings.TrimSpace(line) == "yes" {
			return nil
		}
		return &provider.Problem{Err: errors.Join(errors.New("not confirmed; nothing was changed"), err), Hint: again}
	}
}

func (f existingFlags) spec(c *cobra.Command, ask func(string) error) provider.Existing {
	return provider.Existing{Kubeconfig: f.kubeconfig, Context: f.context, Namespace: f.namespace, NamespaceGiven: c.Flags().Changed("namespace"),
		OperatorImage: f.operatorImage, Confirm: ask}
}
