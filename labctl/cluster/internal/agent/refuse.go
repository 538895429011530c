package agent

import (
	"fmt"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// accountMount is where the service-account admission mounts a pod's token.
const accountMount = "/var/run/secrets/kubernetes.io/serviceaccount"

// refusals names all that a pod asks for and a local process cannot have; "" if there is nothing.
// Security contexts and resource limits are not among them: they are not enforced here, and do not change what a
// well-behaved program sees.
func refusals(pod *corev1.Pod) string {
	var found []string
	refuse := func(when bool, what string) {
		if when {
			found = append(found, what)
		}
	}
	spec := &pod.Spec
	refuse(len(spec.InitContainers) > 0, "init containers")
	refuse(len(spec.EphemeralContainers) > 0, "ephemeral containers")
	refuse(spec.HostNetwork, "hostNetwork")
	refuse(spec.HostPID, "hostPID")
	refuse(spec.HostIPC, "hostIPC")
	refuse(isSet(spec.ShareProcessNamespace), "shareProcessNamespace")
	refuse(len(spec.HostAliases) > 0, "hostAliases")
	refuse(spec.RuntimeClassName != nil, "runtimeClassName")
	refuse(spec.ActiveDeadlineSeconds != nil, "activeDeadlineSeconds")
	for i := range spec.Containers {
		found = append(found, refusedOf(pod, &spec.Containers[i])...)
	}
	if len(found) == 0 {
		return ""
	}
	return "pods run as local processes on this node, which cannot have: " + strings.Join(found, "; ")
}

func refusedOf(pod *corev1.Pod, c *corev1.Container) []string {
	var found []string
	refuse := func(when bool, what string, args ...any) {
		if when {
			found = append(found, fmt.Sprintf("container %s: ", c.Name)+fmt.Sprintf(what, args...))
		}
	}
	refuse(c.Lifecycle != nil && (c.Lifecycle.PostStart != nil || c.Lifecycle.PreStop != nil), "lifecycle hooks")
	refuse(c.Stdin || c.TTY, "stdin or tty")
	refuse(c.RestartPolicy != nil || len(c.RestartPolicyRules) > 0, "a restart policy of its own")
	refuse(len(c.VolumeDevices) > 0, "volumeDevices")
	security := c.SecurityContext
	refuse(security != nil && isSet(security.Privileged), "privileged")
	if c.WorkingDir != "" {
		info, err := os.Stat(c.WorkingDir)
		refuse(err != nil || !info.IsDir(), "workingDir %s, which is not there", c.WorkingDir)
	}
	for _, port := range c.Ports {
		refuse(port.HostPort != 0, "hostPort %d", port.HostPort)
		refuse(port.Protocol == corev1.ProtocolSCTP, "port %d of SCTP", port.ContainerPort)
	}
	for kind, probe := range map[string]*corev1.Probe{"readiness": c.ReadinessProbe, "liveness": c.LivenessProbe, "startup": c.StartupProbe} {
		refuse(probe != nil && probe.GRPC != nil, "a %s probe by gRPC", kind)
	}
	for _, mount := range c.VolumeMounts {
		refuse(!mountable(pod, mount), "volume %s at %s (only the service account's token, and an emptyDir at /tmp, which is TMPDIR)", mount.Name, mount.MountPath)
	}
	slices.Sort(found)
	return found
}

// mountable is true for what can be had without a file system of one's own.
func mountable(pod *corev1.Pod, mount corev1.VolumeMount) bool {
	i := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
	if i < 0 {
		return false
	}
	volume := pod.Spec.Volumes[i]
	if volume.EmptyDir != nil {
		return mount.MountPath == "/tmp" && mount.SubPath == "" && mount.SubPathExpr == ""
	}
	return volume.Projected != nil && mount.MountPath == accountMount &&
		slices.ContainsFunc(volume.Projected.Sources, func(s corev1.VolumeProjection) bool {
			return s.ServiceAccountToken != nil && s.ServiceAccountToken.Audience == ""
		})
}
