package replica

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/operator/api"
)

func TestSetArg(t *testing.T) {
	const retry, release = api.FlagRetryPeriod, api.FlagReleaseOnCancel
	for _, c := range []struct{ name, args, flag, value, want string }{
		{"in place", "--a=1 --ab=2", "a", "9", "--a=9 --ab=2"},
		{"behind the others", "--a=1 --ab=2", "c", "3", "--a=1 --ab=2 --c=3"},
		{"to no arguments", "", "c", "3", "--c=3"},
		{"one dash", "--a=1 -" + retry + "=2s -b=3", retry, "1s", "--a=1 --" + retry + "=1s -b=3"},
		{"a value in the next word", "--a 1 --" + retry + " 2s --b 3", retry, "1s", "--a 1 --" + retry + "=1s --b 3"},
		{"one dash and a value in the next word", "-a 1 -" + retry + " 2s -b 3", retry, "1s", "-a 1 --" + retry + "=1s -b 3"},
		{"a value that looks like the flag", "--a --b=1 --b=2", "b", "9", "--a --b=1 --b=9"},
		{"a bare boolean", "--" + release + " --a=1", release, "false", "--" + release + "=false --a=1"},
		{"a bare boolean is not the next one's value", "--" + release + " --a 1", "a", "2", "--" + release + " --a=2"},
		{"every one of several", "--a=1 --b=2 -a 3 --c=4 --a=5", "a", "9", "--a=9 --b=2 --c=4"},
		{"no value at the end", "--b=1 --a", "a", "9", "--b=1 --a=9"},
		{"before what Go does not read", "--b=1 -- --a=1", "a", "9", "--b=1 --a=9 -- --a=1"},
		{"before a word that is no flag", "--b=1 word --a=1", "a", "9", "--b=1 --a=9 word --a=1"},
		{"an empty value", "--a= --b=1", "a", "9", "--a=9 --b=1"},
		{"a value with =", "--a=x=y --b=1", "b", "2", "--a=x=y --b=2"},
	} {
		args := strings.Fields(c.args)
		given := slices.Clone(args)
		if got := strings.Join(setArg(args, c.flag, c.value), " "); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
		if !slices.Equal(args, given) {
			t.Errorf("%s: the given slice was changed to %v", c.name, args)
		}
	}
}

// settingsFrom is what the operator is told by these arguments.
func settingsFrom(t *testing.T, args []string) Settings {
	t.Helper()
	s, err := settingsOf(deployment(args...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSet(t *testing.T) {
	fast, unsafe := api.Fast(), api.Timing{LeaseDuration: api.Fast().LeaseDuration, RenewDeadline: api.Fast().LeaseDuration, RetryPeriod: api.Fast().RetryPeriod}
	unique, keep, release := api.IdentityPodUUID, false, true
	plain, rejoin := api.ElectionPlain, api.OnLossRejoin
	for _, c := range []struct {
		name    string
		args    []string
		change  Change
		want    []string // arguments; nil if nothing is written
		changed string
		back    string
	}{
		{"no change", []string{"--identity=pod+uuid"}, Change{}, nil, "", ""},
		{"what is so already, by argument and by default", []string{"-identity", "pod", "--identity=pod+uuid"}, Change{Identity: &unique, ReleaseOnCancel: &release}, nil, "", ""},
		{"the durations that differ, and nothing else", []string{"--bind-address=$(POD_IP):8080", "--leader-elect-lease-duration=15s", "--leader-elect-retry-period", "1s"}, Change{Timing: &fast},
			[]string{"--bind-address=$(POD_IP):8080", "--leader-elect-lease-duration=5s", "--leader-elect-retry-period", "1s", "--leader-elect-renew-deadline=3s"},
			"timing 15/10/1 → 5/3/1", "labctl operator set --timing=15/10/1"},
		{"all at once", []string{"--release-on-cancel", "--x=1"}, Change{Timing: &fast, Identity: &unique, ReleaseOnCancel: &keep},
			[]string{"--release-on-cancel=false", "--x=1", "--leader-elect-lease-duration=5s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=1s", "--identity=pod+uuid"},
			"timing 15/10/2 → 5/3/1, identity pod → pod+uuid, releaseOnCancel true → false", "labctl operator set --timing=15/10/2 --identity=pod --release-on-cancel=true"},
		{"protections and the answer to a loss", []string{"--guard-fence", "--x=1"}, Change{OnLoss: &rejoin, Guards: [guards]*bool{nil, &keep, nil, &keep}},
			[]string{"--guard-fence=false", "--x=1", "--on-loss=rejoin", "--guard-deadline=false"},
			"onLoss exit → rejoin, guard-deadline true → false, guard-fence true → false", "labctl operator set --on-loss=exit --guard-deadline=true --guard-fence=true"},
		{"plain does not rejoin", []string{"--on-loss=rejoin"}, Change{Election: &plain}, []string{"--on-loss=exit", "--election=plain"},
			"election guarded → plain, onLoss rejoin → exit", "labctl operator set --election=guarded --on-loss=rejoin"},
		{"back to what labctl would not set", []string{"--leader-elect-lease-duration=5s", "--leader-elect-renew-deadline=5s", "--leader-elect-retry-period=1s"}, Change{Timing: &fast},
			[]string{"--leader-elect-lease-duration=5s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=1s"},
			"timing " + unsafe.String() + " → 5/3/1", "kubectl -n academy-build rollout undo deployment academy-operator"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := fake.NewClientset(deployment(c.args...))
			d := Deployment{Client: client, Namespace: api.DefaultNamespace, Name: api.DefaultName}
			done, err := d.Set(t.Context(), c.change)
			if err != nil {
				t.Fatal(err)
			}
			if done.String() != c.changed || done.Back != c.back {
				t.Errorf("got %q and back by %q, want %q and %q", done, done.Back, c.changed, c.back)
			}
			written := 0
			for _, a := range client.Actions() {
				if a.GetVerb() == "patch" {
					written++
				}
			}
			if (written == 1) != (c.want != nil) || written > 1 || (done.Patch == "") != (c.want == nil) {
				t.Fatalf("got %d patches, the last %q; want one if anything differs", written, done.Patch)
			}
			if c.want == nil {
				return
			}
			after, err := client.AppsV1().Deployments(d.Namespace).Get(t.Context(), d.Name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got := operatorContainer(after).Args
			if !slices.Equal(got, c.want) {
				t.Errorf("got arguments %v, want %v", got, c.want)
			}
			if now := settingsFrom(t, got); now != done.After || now != c.change.On(done.Before) {
				t.Errorf("the arguments say %+v, the result %+v", now, done.After)
			}
		})
	}
}

func TestSet_ThePatchFindsTheContainerByItsName(t *testing.T) {
	text, err := patchArgs([]string{`--a="b"`, "--c='d'"})
	if err != nil {
		t.Fatal(err)
	}
	var patch appsv1.Deployment
	if err := json.Unmarshal([]byte(text), &patch); err != nil {
		t.Fatal(err)
	}
	container := operatorContainer(&patch)
	if container == nil || !slices.Equal(container.Args, []string{`--a="b"`, "--c='d'"}) {
		t.Errorf("got %s", text)
	}
}

func TestSet_ArgumentsThatCannotBeReadAreLeftAlone(t *testing.T) {
	client := fake.NewClientset(deployment("--leader-elect-lease-duration=soon"))
	unique := api.IdentityPodUUID
	_, err := Deployment{Client: client, Namespace: api.DefaultNamespace, Name: api.DefaultName}.Set(t.Context(), Change{Identity: &unique})
	var problem *provider.Problem
	if !errors.As(err, &problem) || problem.Hint != "kubectl -n academy-build edit deployment academy-operator" {
		t.Errorf("got %v, want a problem with a hint", err)
	}
}

func TestSet_PlainDoesNotRejoin(t *testing.T) {
	client := fake.NewClientset(deployment("--election=plain"))
	rejoin := api.OnLossRejoin
	_, err := Deployment{Client: client, Namespace: api.DefaultNamespace, Name: api.DefaultName}.Set(t.Context(), Change{OnLoss: &rejoin})
	var problem *provider.Problem
	if !errors.As(err, &problem) || problem.Hint != "labctl operator set --election guarded --on-loss rejoin" {
		t.Errorf("got %v, want a problem with a hint", err)
	}
}

func TestUndo(t *testing.T) {
	now := Default()
	now.Timing, now.Identity = api.Fast(), api.IdentityPodUUID
	start := Default()
	kept := start.Differences(now)
	if got, want := Values(kept), "timing 5/3/1, identity pod+uuid"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := Undo(kept), "labctl operator set --timing=15/10/2 --identity=pod"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
