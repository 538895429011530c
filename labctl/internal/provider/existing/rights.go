package existing

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"academy.example/lab/labctl/internal/provider"
)

// right is what labctl does in the lab's namespace. docs/student-role.yaml grants these, and a test compares the two.
type right struct {
	group, resource string
	verbs           string
}

var rights = []right{
	{"", "namespaces", "get"},
	{"", "pods", "get list watch delete"},
	{"", "pods/log", "get"},
	{"", "pods/exec", "create get"},
	{"", "configmaps", "get list watch create patch update delete"},
	{"", "serviceaccounts", "get create patch delete"},
	{"apps", "deployments", "get list watch create patch update delete"},
	{"apps", "deployments/scale", "get update patch"},
	{"policy", "poddisruptionbudgets", "get create patch delete"},
	{"rbac.authorization.k8s.io", "roles", "get create patch delete"},
	{"rbac.authorization.k8s.io", "rolebindings", "get create patch delete"},
	{"coordination.k8s.io", "leases", "get list watch create update patch delete"},
	{"coordination.k8s.io", "leasecandidates", "list watch create update"}, // for the operator's Role
}

// checkRights asks for every right before anything is made, and names all that are missing at once.
func (r *record) checkRights(ctx context.Context, client kubernetes.Interface) error {
	namespace := r.Namespace
	var missing []string
	for _, right := range rights {
		resource, sub, _ := strings.Cut(right.resource, "/")
		for verb := range strings.FieldsSeq(right.verbs) {
			name := ""
			if right.resource == "namespaces" {
				name = namespace
			}
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: verb, Group: right.group, Resource: resource, Subresource: sub, Name: name,
			}}}
			answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			if err != nil {
				return fmt.Errorf("ask for the right to %s %s: %w", verb, right.resource, err)
			}
			if !answer.Status.Allowed {
				missing = append(missing, verb+" "+right.resource)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return &provider.Problem{Err: fmt.Errorf("in namespace %s you may not: %s", namespace, strings.Join(missing, ", ")), Hint: "kubectl --context " + r.Context + " apply -n " + namespace + " -f docs/student-role.yaml"}
}
