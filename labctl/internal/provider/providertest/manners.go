package providertest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// manners are cases beside those of a pod's life and death: what kubectl asks of a node, and what controllers build on it.
var manners = []struct {
	name    string
	signals bool // needs a Signaler
	bare    bool // needs more than a Deployment in a namespace
	run     func(*pods)
}{
	{"events tell of a pod's life", false, true, events},
	{"a log is read in parts", false, true, logParts},
	{"the log before is the last one while a container waits", false, true, lastIsPrevious},
	{"the end of the log tells why a container failed", false, true, lastWords},
	{"a pod that is active for too long fails", false, true, overdue},
	{"another image ends the container, and is waited for", false, true, otherImage},
	{"a ConfigMap that comes late is waited for", false, true, lateConfig},
	{"a pod for which no node has room stays pending and is told so", false, true, noRoom},
	{"the node is ready and renews its Lease", false, true, nodeLease},
	{"a rollout goes no further than its first pod that is not ready", false, true, rollout},
	{"a Job runs its pods to their end, each with its index", false, true, indexedJob},
	{"a Job gives up after its back-off limit", false, true, failedJob},
	{"an eviction is allowed or refused by the disruption budget", false, true, eviction},
}

func never(pod *corev1.Pod) { pod.Spec.RestartPolicy = corev1.RestartPolicyNever }

// eventually waits until f returns nil.
func (p *pods) eventually(what string, f func() error) {
	p.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			p.Fatalf("%s: %v after %s", what, err, patience)
		}
	}
}

// told waits for an event about the pod with this reason, and returns its message.
func (p *pods) told(pod, reason string) (message string) {
	p.Helper()
	p.eventually("event "+reason+" of "+pod, func() error {
		list, err := p.client.CoreV1().Events(p.namespace).List(p.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + pod})
		if err != nil {
			return err
		}
		var seen []string
		for _, e := range list.Items {
			if message = e.Message; e.Reason == reason {
				return nil
			}
			seen = append(seen, e.Reason)
		}
		return fmt.Errorf("there are only %v", seen)
	})
	return message
}

func events(p *pods) {
	pod, _ := p.running("events", polite)
	p.told(pod.Name, "Scheduled")
	p.told(pod.Name, "Started")
	p.delete(pod.Name, -1)
	if message := p.told(pod.Name, "Killing"); !strings.Contains(message, "Stopping container main") {
		p.Errorf("the event says %q", message)
	}
	p.awaitGone(pod.Name)
}

// text is what `kubectl logs` prints.
func (p *pods) text(pod string, options corev1.PodLogOptions) string {
	p.Helper()
	text, err := p.client.CoreV1().Pods(p.namespace).GetLogs(pod, &options).DoRaw(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	return string(text)
}

func logParts(p *pods) {
	p.add("log-parts", []string{"exit", "0"}, never)
	p.await("log-parts", "at its end", func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodSucceeded })
	all := p.text("log-parts", corev1.PodLogOptions{})
	one, few, hour, past := int64(1), int64(7), int64(3600), metav1.NewTime(time.Now().Add(time.Hour))
	for name, c := range map[string]struct {
		options corev1.PodLogOptions
		want    string // a pattern
	}{
		"all":            {corev1.PodLogOptions{}, `^running \d+\n$`},
		"tail":           {corev1.PodLogOptions{TailLines: &one}, "^" + regexp.QuoteMeta(all) + "$"},
		"bytes":          {corev1.PodLogOptions{LimitBytes: &few}, "^running$"},
		"since, long":    {corev1.PodLogOptions{SinceSeconds: &hour}, "^" + regexp.QuoteMeta(all) + "$"},
		"since a future": {corev1.PodLogOptions{SinceTime: &past}, "^$"},
		"timestamps":     {corev1.PodLogOptions{Timestamps: true}, `^\d{4}-\d\d-\d\dT[0-9:.]+Z running \d+\n$`},
		"follow an end":  {corev1.PodLogOptions{Follow: true}, "^" + regexp.QuoteMeta(all) + "$"},
	} {
		if text := p.text("log-parts", c.options); !regexp.MustCompile(c.want).MatchString(text) {
			p.Errorf("%s: got %q, want %s", name, text, c.want)
		}
	}
}

func lastIsPrevious(p *pods) {
	p.add("last", []string{"exit", "3"})
	p.await("last", "in back-off", func(pod *corev1.Pod) bool {
		w := first(pod).State.Waiting
		return w != nil && w.Reason == "CrashLoopBackOff"
	})
	if now, before := p.text("last", corev1.PodLogOptions{}), p.text("last", corev1.PodLogOptions{Previous: true}); now != before || !strings.HasPrefix(now, "running") {
		p.Errorf("the log is %q, the one before %q", now, before)
	}
}

func lastWords(p *pods) {
	p.add("last-words", []string{"exit", "3"}, never, func(pod *corev1.Pod) {
		pod.Spec.Containers[0].TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	})
	pod := p.await("last-words", "failed", func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodFailed })
	if s := first(pod).State.Terminated; s == nil || s.ExitCode != 3 || !strings.HasPrefix(s.Message, "running ") {
		p.Errorf("terminated = %+v", s)
	}
}

func overdue(p *pods) {
	seconds := int64(3)
	p.add("overdue", polite, func(pod *corev1.Pod) { pod.Spec.ActiveDeadlineSeconds = &seconds })
	pod := p.await("overdue", "failed", func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodFailed })
	if pod.Status.Reason != "DeadlineExceeded" || ready(pod) {
		p.Errorf("status = %+v", pod.Status)
	}
	p.told("overdue", "DeadlineExceeded")
}

// setImage does what `kubectl set image` does to a pod.
func (p *pods) setImage(pod, image string) {
	p.Helper()
	patch := fmt.Sprintf(`{"spec":{"containers":[{"name":"main","image":%q}]}}`, image)
	if _, err := p.client.CoreV1().Pods(p.namespace).Patch(p.Context(), pod, "application/strategic-merge-patch+json", []byte(patch), metav1.PatchOptions{}); err != nil {
		p.Fatal(err)
	}
}

func otherImage(p *pods) {
	p.running("other-image", polite, func(pod *corev1.Pod) { pod.Spec.Containers[0].ImagePullPolicy = corev1.PullNever })
	p.setImage("other-image", "academy.example/nobody-has-this:lab")
	pod := p.await("other-image", "waiting for its image", func(pod *corev1.Pod) bool {
		w := first(pod).State.Waiting
		return w != nil && w.Reason == "ErrImageNeverPull"
	})
	if last := first(pod).LastTerminationState.Terminated; last == nil || last.ExitCode != 0 {
		p.Errorf("last state = %+v, want an orderly end", last)
	}
	p.told("other-image", "Killing")
	if message := p.told("other-image", "ErrImageNeverPull"); !strings.Contains(message, "nobody-has-this") {
		p.Errorf("the event says %q", message)
	}
	p.setImage("other-image", p.Image)
	if again := p.awaitReady("other-image"); again.UID != pod.UID || first(again).RestartCount != 1 {
		p.Errorf("container status = %+v", first(again))
	}
}

func lateConfig(p *pods) {
	p.add("late-config", polite, func(pod *corev1.Pod) {
		pod.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "late"}}}}
	})
	pod := p.await("late-config", "waiting for the ConfigMap", func(pod *corev1.Pod) bool {
		w := first(pod).State.Waiting
		return w != nil && w.Reason == "CreateContainerConfigError"
	})
	if w := first(pod).State.Waiting; !strings.Contains(w.Message, `"late" not found`) || pod.Status.Phase != corev1.PodPending {
		p.Errorf("status = %+v", pod.Status)
	}
	p.told("late-config", "Failed")
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late"}, Data: map[string]string{"COLOR": "blue"}}
	if _, err := p.client.CoreV1().ConfigMaps(p.namespace).Create(p.Context(), config, metav1.CreateOptions{}); err != nil {
		p.Fatal(err)
	}
	p.awaitReady("late-config")
}

func noRoom(p *pods) {
	p.add("no-room", polite, func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100k")}
	})
	if message := p.told("no-room", "FailedScheduling"); !strings.Contains(strings.ToLower(message), "insufficient cpu") {
		p.Errorf("the event says %q", message)
	}
	if pod := p.get("no-room"); pod.Status.Phase != corev1.PodPending || isTrue(pod, corev1.PodScheduled) || pod.Spec.NodeName != "" {
		p.Errorf("status = %+v", pod.Status)
	}
}

func nodeLease(p *pods) {
	pod, _ := p.running("node", polite)
	node, err := p.client.CoreV1().Nodes().Get(p.Context(), pod.Spec.NodeName, metav1.GetOptions{})
	if err != nil {
		p.Fatal(err)
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && (c.Status != corev1.ConditionTrue || time.Since(c.LastHeartbeatTime.Time) > 6*time.Minute) {
			p.Errorf("condition = %+v", c)
		}
	}
	if info := node.Status.NodeInfo; info.KubeletVersion == "" || info.KernelVersion == "" || info.ContainerRuntimeVersion == "" {
		p.Errorf("node info = %+v", info)
	}
	var renewed []time.Time
	p.eventually("the node's Lease is renewed twice", func() error {
		lease, err := p.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(p.Context(), node.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if owners := lease.OwnerReferences; len(owners) != 1 || owners[0].UID != node.UID {
			return fmt.Errorf("the owners are %+v", owners)
		}
		if at := lease.Spec.RenewTime.Time; len(renewed) == 0 || at.After(renewed[len(renewed)-1]) {
			renewed = append(renewed, at)
		}
		if len(renewed) < 2 {
			return errors.New("it is not")
		}
		return nil
	})
	p.between("node: Lease renewed after", renewed[1].Sub(renewed[0]), 9*time.Second)
}

// web is a Deployment of the subject as a server.
func (p *pods) web(name string, replicas int32, probe *corev1.Probe) *appsv1.Deployment {
	p.Helper()
	none, labels := intstr.FromInt32(0), map[string]string{"case": name}
	made, err := p.client.AppsV1().Deployments(p.namespace).Create(p.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: &none}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "main", Image: p.Image, ImagePullPolicy: corev1.PullIfNotPresent, Args: []string{"serve"}, ReadinessProbe: probe,
				Env: []corev1.EnvVar{{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}}},
			}}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() {
		p.client.AppsV1().Deployments(p.namespace).Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	p.eventually(name+" is rolled out", func() error {
		made, err = p.client.AppsV1().Deployments(p.namespace).Get(p.Context(), name, metav1.GetOptions{})
		if err == nil && made.Status.AvailableReplicas != replicas {
			err = fmt.Errorf("status %+v", made.Status)
		}
		return err
	})
	return made
}

func rollout(p *pods) {
	made := p.web("rollout", 2, httpProbe("/late"))
	seconds := int32(5)
	made.Spec.ProgressDeadlineSeconds = &seconds
	never := httpProbe("/early")
	never.InitialDelaySeconds = 3 // by then it is early no more
	made.Spec.Template.Spec.Containers[0].ReadinessProbe = never
	// The object's status changes meanwhile, which is no conflict for who says what is to be.
	made.ResourceVersion = ""
	if _, err := p.client.AppsV1().Deployments(p.namespace).Update(p.Context(), made, metav1.UpdateOptions{}); err != nil {
		p.Fatal(err)
	}
	p.eventually("the rollout is given up", func() error {
		now, err := p.client.AppsV1().Deployments(p.namespace).Get(p.Context(), "rollout", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if s := now.Status; s.ObservedGeneration == now.Generation && (s.AvailableReplicas != 2 || s.UpdatedReplicas > 1) {
			p.Fatalf("it goes on: %+v", s)
		}
		for _, c := range now.Status.Conditions {
			if c.Type == appsv1.DeploymentProgressing && c.Reason == "ProgressDeadlineExceeded" {
				return nil
			}
		}
		return fmt.Errorf("status %+v", now.Status)
	})
}

// job makes a Job of the subject and waits for its end.
func (p *pods) job(name string, args []string, change func(*batchv1.JobSpec)) (*batchv1.Job, *batchv1.JobCondition) {
	p.Helper()
	spec := batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{Name: "main", Image: p.Image, ImagePullPolicy: corev1.PullIfNotPresent, Args: args}}}}}
	change(&spec)
	jobs := p.client.BatchV1().Jobs(p.namespace)
	if _, err := jobs.Create(p.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{}); err != nil {
		p.Fatal(err)
	}
	var job *batchv1.Job
	var end *batchv1.JobCondition
	p.eventually(name+" ends", func() (err error) {
		if job, err = jobs.Get(p.Context(), name, metav1.GetOptions{}); err != nil {
			return err
		}
		for i := range job.Status.Conditions {
			if c := &job.Status.Conditions[i]; c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed {
				end = c
				return nil
			}
		}
		return fmt.Errorf("status %+v", job.Status)
	})
	return job, end
}

func indexedJob(p *pods) {
	job, end := p.job("indexed", []string{"env"}, func(s *batchv1.JobSpec) {
		two, indexed := int32(2), batchv1.IndexedCompletion
		s.Completions, s.Parallelism, s.CompletionMode = &two, &two, &indexed
	})
	if end.Type != batchv1.JobComplete || job.Status.Succeeded != 2 || job.Status.CompletedIndexes != "0,1" {
		p.Errorf("status %+v", job.Status)
	}
	list, err := p.client.CoreV1().Pods(p.namespace).List(p.Context(), metav1.ListOptions{LabelSelector: "job-name=indexed"})
	if err != nil {
		p.Fatal(err)
	}
	for _, pod := range list.Items {
		index, text := pod.Labels["batch.kubernetes.io/job-completion-index"], p.text(pod.Name, corev1.PodLogOptions{})
		for _, want := range []string{"\nenv JOB_COMPLETION_INDEX=" + index + "\n", "\nenv HOSTNAME=indexed-" + index + "\n"} {
			if !strings.Contains(text, want) {
				p.Errorf("%s does not see %q: %s", pod.Name, want, text)
			}
		}
	}
}

func failedJob(p *pods) {
	job, end := p.job("failed", []string{"exit", "3"}, func(s *batchv1.JobSpec) {
		none := int32(0)
		s.BackoffLimit = &none
	})
	if end.Type != batchv1.JobFailed || end.Reason != batchv1.JobReasonBackoffLimitExceeded || job.Status.Failed != 1 {
		p.Errorf("status %+v", job.Status)
	}
}

func eviction(p *pods) {
	p.web("eviction", 2, httpProbe("/late"))
	one, selector := intstr.FromInt32(1), &metav1.LabelSelector{MatchLabels: map[string]string{"case": "eviction"}}
	budgets := p.client.PolicyV1().PodDisruptionBudgets(p.namespace)
	if _, err := budgets.Create(p.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "eviction"},
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: selector}}, metav1.CreateOptions{}); err != nil {
		p.Fatal(err)
	}
	p.eventually("the budget is counted", func() error {
		b, err := budgets.Get(p.Context(), "eviction", metav1.GetOptions{})
		if err == nil && b.Status.DisruptionsAllowed != 1 {
			err = fmt.Errorf("status %+v", b.Status)
		}
		return err
	})
	list, err := p.client.CoreV1().Pods(p.namespace).List(p.Context(), metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(selector)})
	if err != nil || len(list.Items) != 2 {
		p.Fatalf("%d pods, %v", len(list.Items), err)
	}
	evict := func(i int) error {
		return p.client.PolicyV1().Evictions(p.namespace).Evict(p.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: list.Items[i].Name, Namespace: p.namespace}})
	}
	if err := evict(0); err != nil {
		p.Errorf("the first eviction: %v", err)
	}
	if err := evict(1); !apierrors.IsTooManyRequests(err) || !strings.Contains(err.Error(), "disruption budget") {
		p.Errorf("the second eviction: %v, want it refused", err)
	}
	p.awaitGone(list.Items[0].Name)
}
