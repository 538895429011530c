package existing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"academy.example/lab/labctl/internal/provider"
)

// labelStudent marks the namespaces that Prepare made, so that Withdraw removes those and no other.
const labelStudent = "academy.example/student"

// Grant is a student's place on a cluster: a namespace, and a kubeconfig that may do in it what a lab needs, and nothing elsewhere.
type Grant struct {
	Namespace  string
	Kubeconfig []byte
	Expires    time.Time // when its token ends, as the API server says
}

// roleName is the name of a student's Role, its binding and the ServiceAccount that it is bound to.
const roleName = "failover-lab"

// Room prepares a cluster for a class, with the rights of a kubeconfig.
type Room struct {
	client kubernetes.Interface
	config *rest.Config
}

// NewRoom returns a room on the cluster of a kubeconfig. It asks confirm before it changes a cluster that is not on this machine.
func NewRoom(kubeconfig string, confirm func(question string) error, question string) (*Room, error) {
	config, err := provider.ReadConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	if !local(config.Host) {
		if err := confirm(question + " on " + config.Host); err != nil {
			return nil, err
		}
	}
	config.QPS, config.Burst = 100, 200
	config.Timeout = requestLimit
	client, err := kubernetes.NewForConfig(config)
	return &Room{client: client, config: config}, err
}

// Prepare makes a student's namespace, Role and credentials. What is there already is kept, and the credentials are new.
func (r *Room) Prepare(ctx context.Context, namespace string, expiry time.Duration) (Grant, error) {
	g := Grant{Namespace: namespace}
	steps := []func(context.Context, string) error{r.namespace, r.role, r.account, r.binding}
	for _, step := range steps {
		if err := step(ctx, namespace); err != nil {
			return g, refused(namespace, err)
		}
	}
	seconds := int64(expiry.Seconds())
	token, err := r.client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, roleName,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		return g, refused(namespace, err)
	}
	g.Expires = token.Status.ExpirationTimestamp.Time
	g.Kubeconfig, err = r.kubeconfig(namespace, token.Status.Token)
	return g, err
}

// refused says what to do about rights that are missing.
func refused(namespace string, err error) error {
	if apierrors.IsForbidden(err) {
		return &provider.Problem{Err: fmt.Errorf("prepare namespace %s: this needs an administrator's rights: %w", namespace, err), Hint: "kubectl auth can-i create namespaces"}
	}
	return fmt.Errorf("prepare namespace %s: %w", namespace, err)
}

func (r *Room) namespace(ctx context.Context, name string) error {
	found, err := r.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = r.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name,
			Labels: map[string]string{LabelPrepared: "true", labelStudent: "true"}}}, metav1.CreateOptions{})
		return err
	case err != nil:
		return err
	case found.DeletionTimestamp != nil:
		return &provider.Problem{Err: errors.New("it is being removed"), Hint: "kubectl wait --for=delete namespace/" + name}
	case found.Labels[labelStudent] != "true":
		return &provider.Problem{Err: errors.New("it was there before and is not of a class: nothing in it is touched"), Hint: "kubectl get namespace " + name + " --show-labels"}
	}
	return nil
}

// made is nil for what was made or is there already.
func made(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// role grants what labctl does in a lab's namespace, as docs/student-role.yaml does.
func (r *Room) role(ctx context.Context, namespace string) error {
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: roleName}}
	for _, right := range rights {
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{right.group}, Resources: []string{right.resource}, Verbs: strings.Fields(right.verbs)})
	}
	_, err := r.client.RbacV1().Roles(namespace).Create(ctx, role, metav1.CreateOptions{})
	return made(err)
}

func (r *Room) account(ctx context.Context, namespace string) error {
	_, err := r.client.CoreV1().ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: roleName}}, metav1.CreateOptions{})
	return made(err)
}

func (r *Room) binding(ctx context.Context, namespace string) error {
	_, err := r.client.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: roleName},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: roleName},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: roleName, Namespace: namespace}}}, metav1.CreateOptions{})
	return made(err)
}

// kubeconfig is a file with one context, named after the namespace, and with the token alone.
func (r *Room) kubeconfig(namespace, token string) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	cluster := clientcmdapi.NewCluster()
	cluster.Server, cluster.TLSServerName = r.config.Host, r.config.ServerName
	cluster.CertificateAuthority, cluster.CertificateAuthorityData, cluster.InsecureSkipTLSVerify = r.config.CAFile, r.config.CAData, r.config.Insecure
	user := clientcmdapi.NewAuthInfo()
	user.Token = token
	own := clientcmdapi.NewContext()
	own.Cluster, own.AuthInfo, own.Namespace = "class", namespace, namespace
	config.Clusters["class"], config.AuthInfos[namespace], config.Contexts[namespace] = cluster, user, own
	config.CurrentContext = namespace
	if err := clientcmdapi.FlattenConfig(config); err != nil { // the authority is in the file, not beside it
		return nil, fmt.Errorf("write the kubeconfig of %s: %w", namespace, err)
	}
	return clientcmd.Write(*config)
}

// withdrawLimit bounds how long Withdraw waits for namespaces to go.
const withdrawLimit = 2 * time.Minute

// Withdraw removes every namespace that Prepare made, with all that is in them, and returns their names. The credentials end with them.
func (r *Room) Withdraw(ctx context.Context, say func(string)) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, withdrawLimit)
	defer cancel()
	var names []string
	for first := true; ; first = false {
		list, err := r.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: labelStudent + "=true"})
		if err != nil {
			return names, refused("", err)
		}
		for _, n := range list.Items {
			if first {
				names = append(names, n.Name)
			}
			if n.DeletionTimestamp == nil {
				if err := r.client.CoreV1().Namespaces().Delete(ctx, n.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
					return names, refused(n.Name, err)
				}
			}
		}
		if len(list.Items) == 0 {
			return names, nil
		}
		say(fmt.Sprintf("waiting for %d namespaces to go", len(list.Items)))
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return names, ctx.Err()
		}
	}
}
