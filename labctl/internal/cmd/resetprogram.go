package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/operator/api"
)

// ownProgram takes a faulty operator that an exercise has put into the Deployment out again: its command, and which fault it has.
func ownProgram(ctx context.Context, l *lab.Lab) error {
	deployments := l.Client.AppsV1().Deployments(l.Deployment.Namespace)
	d, err := deployments.Get(ctx, l.Deployment.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read Deployment %s/%s: %w", l.Deployment.Namespace, l.Deployment.Name, err)
	}
	changed := false
	for i := range d.Spec.Template.Spec.Containers {
		c := &d.Spec.Template.Spec.Containers[i]
		args := len(c.Args)
		c.Args = slices.DeleteFunc(c.Args, func(a string) bool { return strings.HasPrefix(a, "--"+api.FlagMutant+"=") })
		if len(c.Command) > 0 || len(c.Args) < args {
			c.Command, changed = nil, true
		}
	}
	if !changed {
		return nil
	}
	if _, err := deployments.Update(ctx, d, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("give Deployment %s/%s its own program: %w", l.Deployment.Namespace, l.Deployment.Name, err)
	}
	return nil
}
