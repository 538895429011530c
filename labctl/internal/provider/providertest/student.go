package providertest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// student is who has the documented Role.
const student = "student-01"

// RunAsStudent does what a student of a shared cluster can: the suite by the API alone, in one namespace, with the rights of
// docs/student-role.yaml, and makes sure first that these are all. The namespace is removed at the end. p's Config must be
// allowed to grant them.
func RunAsStudent(t *testing.T, p Place, docs string) {
	t.Helper()
	client, err := kubernetes.NewForConfig(p.Config)
	if err != nil {
		t.Fatal(err)
	}
	made, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: student + "-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.CoreV1().Namespaces().Delete(context.Background(), made.Name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("remove the student's namespace: %v", err)
		}
	})
	grant(t, client, made.Name, docs)
	p.Provider, p.Namespace = nil, made.Name
	p.Config = rest.CopyConfig(p.Config)
	p.Config.Impersonate = rest.ImpersonationConfig{UserName: student}
	refused(t, p.Config)
	Run(t, p)
}

func grant(t *testing.T, client kubernetes.Interface, namespace, docs string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(docs, "student-role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.Role
	if err := yaml.UnmarshalStrict(data, &role); err != nil {
		t.Fatal(err)
	}
	binding := rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: student}}}
	_, err1 := client.RbacV1().Roles(namespace).Create(t.Context(), &role, metav1.CreateOptions{})
	_, err2 := client.RbacV1().RoleBindings(namespace).Create(t.Context(), &binding, metav1.CreateOptions{})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
}

// refused makes sure that the Role is what counts: what it does not grant is forbidden.
func refused(t *testing.T, config *rest.Config) {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("the student lists the pods of another namespace: got %v, want forbidden", err)
	}
}
