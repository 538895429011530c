package replica

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/operator/api"
)

// Settings is what the operator was told by its arguments.
type Settings struct {
	Timing          api.Timing `json:"timing"`
	Election        string     `json:"election"`
	Identity        string     `json:"identity"`
	ReleaseOnCancel bool       `json:"releaseOnCancel"`
	OnLoss          string     `json:"onLoss"`
	Guards          api.Guards `json:"guards"`        // of the guarded election
	BinaryVersion   string     `json:"binaryVersion"` // that a replica says of itself; of the coordinated election
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

// Default returns what the operator takes without arguments.
func Default() Settings {
	return Settings{Timing: api.Default(), Election: api.DefaultElection, Identity: api.IdentityPod, ReleaseOnCancel: true,
		OnLoss: api.OnLossExit, Guards: api.AllGuards(), BinaryVersion: api.DefaultBinaryVersion, LeaseName: api.DefaultName}
}

// settingsOf reads the operator's arguments; what is not given is what the operator itself takes.
func settingsOf(d *appsv1.Deployment) (Settings, error) {
	s := Default()
	container := operatorContainer(d)
	if container == nil {
		return s, fmt.Errorf("the Deployment %s/%s has no container named %s", d.Namespace, d.Name, api.ContainerName)
	}
	var problems []error
	flags, _ := parseArgs(container.Args)
	for _, f := range flags {
		if err := s.take(f, d.Namespace); err != nil {
			problems = append(problems, fmt.Errorf("argument %s of Deployment %s/%s: %w", strings.Join(f.words, " "), d.Namespace, d.Name, err))
		}
	}
	if len(problems) > 0 {
		return s, &provider.Problem{Err: errors.Join(problems...), Hint: fmt.Sprintf("kubectl -n %s edit deployment %s", d.Namespace, d.Name)}
	}
	return s, nil
}

// take reads one flag. Those that the lab does not depend on are left to the operator.
func (s *Settings) take(f argument, namespace string) error {
	value := f.value
	var err error
	for _, g := range s.Guards.Each() {
		if g.Flag == f.name {
			*g.On, err = strconv.ParseBool(value)
			return err
		}
	}
	switch f.name {
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
		s.ReleaseOnCancel, err = strconv.ParseBool(value)
	case api.FlagOnLoss:
		s.OnLoss = value
	case api.FlagBinaryVersion:
		s.BinaryVersion = value
	case api.FlagLeaseName:
		s.LeaseName = value
	case api.FlagLeaseNamespace:
		if value != namespace && value != "$("+api.EnvPodNamespace+")" {
			err = fmt.Errorf("the Lease is in another namespace than the operator, which the lab does not follow")
		}
	}
	return err
}
