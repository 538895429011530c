package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/operator/api"
)

// Doctor examines the machine and, if it runs, the lab of that name, from the ground up: what a failed check makes
// pointless is not examined. image is the node image to look for; empty takes the provider's own.
func Doctor(ctx context.Context, p provider.Provider, name, image string) []check.Check {
	l, err := Open(ctx, p, name, func(string) {})
	checks := machine(ctx, p, name, image, err != nil)
	if errors.Is(err, provider.ErrNoLab) {
		return append(checks, check.Check{Name: "lab", Verdict: check.Unknown, Reason: err.Error(), Hint: hintOf(err)})
	}
	checks = append(checks, verdictOf("lab", err, "the cluster of lab "+name+" runs"))
	if err != nil {
		return checks
	}
	all := l.examinations()
	for i, e := range all {
		bounded, cancel := context.WithTimeout(ctx, 10*time.Second)
		c := e.examine(bounded)
		cancel()
		checks = append(checks, c)
		if rest := all[i+1:]; c.Verdict != check.Pass && e.first && len(rest) > 0 {
			var names []string
			for _, r := range rest {
				names = append(names, r.name)
			}
			return append(checks, check.Check{Name: "rest", Verdict: check.Unknown, Reason: "not looked at before that is mended: " + strings.Join(names, ", ")})
		}
	}
	return checks
}

// examination is one look at a lab; without a pass of a first one, those after it tell nothing.
type examination struct {
	name    string
	first   bool
	examine func(context.Context) check.Check
}

func (l *Lab) examinations() []examination {
	all := []examination{{"agent", true, l.nodeAnswers}, {"api", true, l.apiReady}, {"node", true, l.nodeReady}, {"rbac", false, l.rights}, {"rbac-least", false, l.noMore},
		{"lanes", false, l.lanesLeft}, {"program", false, l.ownProgram}, {"operator", true, l.operatorReady}, {"lease", false, l.held}, {"work", false, l.works}}
	if l.Cluster.Namespace != "" { // nodes, namespaces and other users' rights are somebody else's
		all = slices.DeleteFunc(all, func(e examination) bool {
			return slices.Contains([]string{"node", "rbac", "rbac-least", "lanes"}, e.name)
		})
	}
	if _, ok := l.Provider.(provider.NodeProber); !ok {
		all = slices.DeleteFunc(all, func(e examination) bool { return e.name == "agent" })
	}
	return all
}

// nodeAnswers asks the node itself, which tells of processes and does what silences them.
func (l *Lab) nodeAnswers(ctx context.Context) check.Check {
	err := l.Provider.(provider.NodeProber).NodeProbe(l.Cluster)(ctx)
	c := verdictOf("agent", err, "the node tells of its processes")
	if err != nil {
		c.Reason, c.Hint = "the node does not tell of its processes: "+c.Reason, "labctl down && labctl up"
	}
	return c
}

// machine is what the provider needs of this machine, with what only the making of a lab needs if that is still to come.
func machine(ctx context.Context, p provider.Provider, name, image string, making bool) []check.Check {
	var checks []check.Check
	for _, f := range p.Examine(ctx, name, image) {
		if making || !f.Making {
			checks = append(checks, verdictOf(f.Name, f.Err, f.Good))
		}
	}
	return checks
}

func verdictOf(name string, err error, good string) check.Check {
	if err != nil {
		return check.Check{Name: name, Verdict: check.Fail, Reason: err.Error(), Hint: hintOf(err)}
	}
	return check.Check{Name: name, Verdict: check.Pass, Reason: good}
}

func hintOf(err error) string {
	var problem *provider.Problem
	if errors.As(err, &problem) {
		return problem.Hint
	}
	return ""
}

// apiReady asks for all of /readyz: `up` returns before the last of its checks.
func (l *Lab) apiReady(ctx context.Context) check.Check {
	body, err := l.Client.Discovery().RESTClient().Get().AbsPath("/readyz").Param("verbose", "").DoRaw(ctx)
	if err != nil {
		var bad []string
		for line := range strings.Lines(string(body)) {
			if strings.HasPrefix(line, "[-]") {
				bad = append(bad, strings.TrimSpace(line))
			}
		}
		why := err.Error()
		if len(bad) > 0 {
			why = strings.Join(bad, ", ") // and not all that is well
		}
		return check.Check{Name: "api", Verdict: check.Fail, Reason: fmt.Sprintf("the API server at %s is not ready: %s", l.Cluster.Server, why), Hint: "labctl down && labctl up"}
	}
	return check.Check{Name: "api", Verdict: check.Pass, Reason: fmt.Sprintf("kube-apiserver %s at %s says ready", l.Cluster.Kubernetes, l.Cluster.Server)}
}

func (l *Lab) nodeReady(ctx context.Context) check.Check {
	nodes, err := l.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return verdictOf("node", fmt.Errorf("list nodes: %w", err), "")
	}
	var ready []string
	for _, n := range nodes.Items {
		if n.Spec.Unschedulable {
			return check.Check{Name: "node", Verdict: check.Fail, Reason: "node " + n.Name + " is cordoned: no pod can start", Hint: "kubectl uncordon " + n.Name}
		}
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				ready = append(ready, n.Name)
			}
		}
	}
	if len(ready) == 0 || len(ready) < len(nodes.Items) {
		return check.Check{Name: "node", Verdict: check.Fail, Reason: fmt.Sprintf("%d of %d nodes are ready", len(ready), len(nodes.Items)), Hint: "labctl down && labctl up"}
	}
	return check.Check{Name: "node", Verdict: check.Pass, Reason: "ready: " + strings.Join(ready, ", ")}
}

// rights asks the API server what the operator's service account may do with Leases.
func (l *Lab) rights(ctx context.Context) check.Check {
	var missing []string
	for _, verb := range []string{"get", "create", "update"} {
		allowed, err := l.may(ctx, verb)
		if err != nil {
			return verdictOf("rbac", err, "")
		}
		if !allowed {
			missing = append(missing, verb)
		}
	}
	if len(missing) > 0 {
		return check.Check{Name: "rbac", Verdict: check.Fail, Hint: "labctl down && labctl up",
			Reason: fmt.Sprintf("the operator may not %s leases: add that to the Role %s in %s", strings.Join(missing, ", "), api.DefaultName, api.RoleFile)}
	}
	return check.Check{Name: "rbac", Verdict: check.Pass, Reason: "the operator may get, create and update leases in " + l.Deployment.Namespace}
}

// noMore checks that the operator's rights are no wider than the lock needs.
func (l *Lab) noMore(ctx context.Context) check.Check {
	allowed, err := l.may(ctx, "delete")
	if err == nil && allowed {
		return check.Check{Name: "rbac-least", Verdict: check.Fail, Reason: "the operator may delete leases, which the lock does not need", Hint: "kubectl -n " + l.Deployment.Namespace + " edit role " + api.DefaultName}
	}
	return verdictOf("rbac-least", err, "the operator may not delete leases")
}

func (l *Lab) may(ctx context.Context, verb string) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "system:serviceaccount:" + l.Deployment.Namespace + ":" + api.DefaultName,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: l.Deployment.Namespace, Verb: verb,
			Group: "coordination.k8s.io", Resource: "leases", Name: api.DefaultName},
	}}
	answer, err := l.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask whether the operator may %s leases: %w", verb, err)
	}
	return answer.Status.Allowed, nil
}

func (l *Lab) operatorReady(ctx context.Context) check.Check {
	state, err := l.state(ctx)
	if err != nil {
		return verdictOf("operator", err, "")
	}
	reason := fmt.Sprintf("%d of %d replicas are ready", state.Ready, state.Replicas)
	if state.Replicas == 0 {
		return check.Check{Name: "operator", Verdict: check.Fail, Reason: "the operator is scaled to 0: nobody can lead", Hint: "labctl scale 2"}
	}
	if !state.Settled && state.Ready >= state.Replicas {
		reason += ", but a rollout is not finished"
	}
	if !state.Settled {
		return check.Check{Name: "operator", Verdict: check.Fail, Reason: reason + unready(state.Pods), Hint: fmt.Sprintf("kubectl -n %s get pods,events", l.Deployment.Namespace)}
	}
	if err := state.Settings.Timing.Validate(); err != nil {
		return check.Check{Name: "operator", Verdict: check.Fail, Reason: reason + ", but its timing is unsafe: " + err.Error(), Hint: "labctl operator set --timing default"}
	}
	return check.Check{Name: "operator", Verdict: check.Pass, Reason: reason}
}

// held checks that a replica holds the Lease and renews it.
func (l *Lab) held(ctx context.Context) check.Check {
	s, err := l.Status(ctx)
	if err != nil {
		return verdictOf("lease", err, "")
	}
	bad := func(reason string) check.Check {
		return check.Check{Name: "lease", Verdict: check.Fail, Reason: reason, Hint: fmt.Sprintf("kubectl -n %s logs -l %s --prefix --tail=5", l.Deployment.Namespace, api.PodSelector)}
	}
	limit := (s.Settings.Timing.RenewDeadline + s.Settings.Timing.RetryPeriod).Seconds()
	switch {
	case s.Lease == nil:
		return bad("the Lease does not exist: no replica could write it yet")
	case s.Lease.Holder == "":
		return bad("nobody holds the Lease")
	case s.RenewAgeSeconds == nil:
		return bad("the Lease was never renewed")
	case *s.RenewAgeSeconds > limit:
		return bad(fmt.Sprintf("%s holds the Lease, but renewed it %.1f s ago", s.Lease.Holder, *s.RenewAgeSeconds))
	}
	if s.HolderGone {
		return bad(s.Lease.Holder + " holds the Lease, but is no replica of the operator")
	}
	return check.Check{Name: "lease", Verdict: check.Pass, Reason: fmt.Sprintf("%s holds the Lease and renewed it %.1f s ago", s.Lease.Holder, *s.RenewAgeSeconds)}
}
