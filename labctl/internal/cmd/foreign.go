package cmd

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/provider"
)

// foreignFlags name an operator that is not the lab's, and its Lease.
type foreignFlags struct{ deployment, lease string }

func (f *foreignFlags) define(c *cobra.Command) {
	c.Flags().StringVar(&f.deployment, "deployment", "", "measure another operator: NAMESPACE/NAME of its Deployment; needs --lease")
	c.Flags().StringVar(&f.lease, "lease", "", "NAMESPACE/NAME of that operator's Lease")
}

// foreign returns what the flags name; nil if they are not given.
func (f foreignFlags) foreign(command string) (*lab.Foreign, error) {
	if f.deployment == "" && f.lease == "" {
		return nil, nil
	}
	wrong := func(err error) error {
		return &provider.Problem{Err: err, Hint: command + " --deployment my-namespace/my-operator --lease my-namespace/my-lease"}
	}
	if f.deployment == "" || f.lease == "" {
		return nil, wrong(fmt.Errorf("--deployment and --lease belong together: the pods of one are the candidates for the other"))
	}
	var out lab.Foreign
	var err error
	if out.Namespace, out.Deployment, err = namespaced("--deployment", f.deployment); err != nil {
		return nil, wrong(err)
	}
	if out.LeaseNamespace, out.LeaseName, err = namespaced("--lease", f.lease); err != nil {
		return nil, wrong(err)
	}
	return &out, nil
}

// objectName is what Kubernetes takes for a name: a DNS subdomain.
var objectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

func namespaced(flag, value string) (namespace, name string, err error) {
	namespace, name, both := strings.Cut(value, "/")
	if !both || !objectName.MatchString(namespace) || !objectName.MatchString(name) {
		return "", "", fmt.Errorf("%s %q is not NAMESPACE/NAME", flag, value)
	}
	return namespace, name, nil
}
