package agent

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/labctl/cluster/internal/process"
)

// tokenSeconds is the life that a pod's token is asked for when its volume does not say.
const tokenSeconds = 3607

// tokenCheck is how often it is looked at the clock whether a token is due. One long wait would not do: it stands still
// while the machine sleeps, and the token ages.
const tokenCheck = time.Second

// tokenKeeper gives a pod its service account's token, bound to the pod, and renews it.
type tokenKeeper struct {
	node *node
	pod  *corev1.Pod
	dir  string
}

// tokenSource is the volume that asks for a token, if a container mounts one.
func tokenSource(pod *corev1.Pod) *corev1.ServiceAccountTokenProjection {
	for i := range pod.Spec.Volumes {
		projected := pod.Spec.Volumes[i].Projected
		if projected == nil {
			continue
		}
		for _, source := range projected.Sources {
			if source.ServiceAccountToken != nil {
				return source.ServiceAccountToken
			}
		}
	}
	return nil
}

func wantsToken(pod *corev1.Pod) bool { return tokenSource(pod) != nil }

// run writes the files, then calls write and ready once, then renews the token at 80 % of its life until ctx ends.
func (k *tokenKeeper) run(ctx context.Context, write func() error, ready func()) {
	what := "get token for pod " + k.pod.Namespace + "/" + k.pod.Name
	for first := true; ; first = false {
		var due time.Time
		err := k.node.retry(ctx, what, func() (err error) {
			if due, err = k.renew(ctx); err != nil || !first {
				return err
			}
			if err := process.WriteFile(filepath.Join(k.dir, "ca.crt"), k.node.ca); err != nil {
				return err
			}
			if err := process.WriteFile(filepath.Join(k.dir, "namespace"), []byte(k.pod.Namespace)); err != nil {
				return err
			}
			return write()
		})
		if err != nil {
			return
		}
		if first {
			ready()
		}
		if !awaitWall(ctx, due, time.Now) {
			return
		}
	}
}

// awaitWall waits until the wall clock, which is now, shows due. It reports false if ctx ends before.
func awaitWall(ctx context.Context, due time.Time, now func() time.Time) bool {
	for {
		left := due.Round(0).Sub(now().Round(0)) // without the monotonic reading, which stands still in a sleep
		if left <= 0 {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(min(left, tokenCheck)):
		}
	}
}

// renew puts a new token in place and tells when it is to be renewed: after 80 % of its life.
func (k *tokenKeeper) renew(ctx context.Context) (time.Time, error) {
	seconds := int64(tokenSeconds)
	if asked := tokenSource(k.pod).ExpirationSeconds; asked != nil {
		seconds = *asked
	}
	account := k.pod.Spec.ServiceAccountName
	if account == "" {
		account = "default"
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: &seconds,
		BoundObjectRef: &authenticationv1.BoundObjectReference{
			APIVersion: "v1", Kind: "Pod", Name: k.pod.Name, UID: k.pod.UID,
		},
	}}
	accounts := k.node.client.CoreV1().ServiceAccounts(k.pod.Namespace)
	granted, err := accounts.CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return time.Time{}, fmt.Errorf("request token: %w", err)
	}
	if err := process.WriteFile(filepath.Join(k.dir, "token"), []byte(granted.Status.Token)); err != nil {
		return time.Time{}, err
	}
	now := time.Now()
	return now.Add(max(granted.Status.ExpirationTimestamp.Sub(now), time.Second) * 8 / 10), nil
}
