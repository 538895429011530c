package replica

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"academy.example/lab/operator/api"
)

// Settings is what the operator was told by its arguments.
type Settings struct {
	Timing          api.Timing `json:"timing"`
	Election        string     `json:"election"`
	Identity        string     `json:"identity"`
	ReleaseOnCancel bool       `json:"releaseOnCancel"`
	LeaseName       string     `json:"leaseName"`
}

func operatorContainer(d *appsv1.Deployment) *corev1.Container {
	for i, c := range d.Spec.Template.Spec.Containers {
		if c.Name == api.ContainerName {
			return &d.Spec.Template.Spec.Containers[i]
		}
	}
	return nil
}

// settingsOf reads the operator's arguments; what is not given is what the operator itself takes.
func settingsOf(d *appsv1.Deployment) (Settings, error) {
	s := Settings{Timing: api.Default(), Election: api.ElectionPlain, Identity: api.IdentityPod, ReleaseOnCancel: true, LeaseName: api.DefaultName}
	container := operatorContainer(d)
	if container == nil {
		return s, fmt.Errorf("the Deployment %s/%s has no container named %s", d.Namespace, d.Name, api.ContainerName)
	}
	var problems []error
	for _, arg := range joined(container.Args) {
		if err := s.take(arg, d.Namespace); err != nil {
			problems = append(problems, fmt.Errorf("argument %s of Deployment %s/%s: %w", arg, d.Namespace, d.Name, err))
		}
	}
	return s, errors.Join(problems...)
}

// joined spells every flag as --flag=value; Go's flag package takes one dash and a value in the next argument, too.
func joined(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		name := strings.TrimLeft(args[i], "-")
		if name == args[i] || name == "" {
			continue
		}
		boolean := name == api.FlagReleaseOnCancel
		if !strings.Contains(name, "=") && !boolean && i+1 < len(args) {
			i++
			name += "=" + args[i]
		}
		out = append(out, "--"+name)
	}
	return out
}

// take reads one --flag=value. Flags that the lab does not depend on are left to the operator.
func (s *Settings) take(arg, namespace string) error {
	flag, value, given := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
	var err error
	switch flag {
	case api.FlagLeaseDuration:
		s.Timing.LeaseDuration, err = time.ParseDuration(value)
	case api.FlagRenewDeadline:
		s.Timing.RenewDeadline, err = time.ParseDuration(value)
	case api.FlagRetryPeriod:
		s.Timing.RetryPeriod, err = time.ParseDuration(value)
	case api.FlagElection:
		s.Election = value
	case api.FlagIdentity:
		s.Identity = value
	case api.FlagReleaseOnCancel:
		s.ReleaseOnCancel = true
		if given {
			s.ReleaseOnCancel, err = strconv.ParseBool(value)
		}
	case api.FlagLeaseName:
		s.LeaseName = value
	case api.FlagLeaseNamespace:
		if value != namespace && value != "$("+api.EnvPodNamespace+")" {
			err = fmt.Errorf("the Lease is in another namespace than the operator, which the lab does not follow")
		}
	}
	return err
}
