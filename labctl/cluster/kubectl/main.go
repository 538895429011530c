// Command kubectl is the Kubernetes command line, built from the same release as the cluster it talks to.
package main

import (
	"os"

	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubeconfigs of other clusters may name these plugins
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	// kubectl logs while it builds its command tree, before flags are parsed: the level is needed now.
	if _, err := logs.GlogSetter(cmd.GetLogVerbosity(os.Args)); err != nil {
		util.CheckErr(err)
	}
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
}
