package agent

import (
	"fmt"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const (
	// accountMount is where the service-account admission mounts a pod's token.
	accountMount = "/var/run/secrets/kubernetes.io/serviceaccount"
	rootCAMap    = "kube-root-ca.crt" // the ConfigMap that is mounted beside it
)

// verdict is what this node cannot do for a pod. It is told by an event, so that nothing is left out in silence.
type verdict struct {
	refused    []string // the pod does not start
	unenforced []string // it starts without; a program that keeps to its bounds sees no difference
}

func (v *verdict) refuse(when bool, what string, args ...any) {
	if when {
		v.refused = append(v.refused, fmt.Sprintf(what, args...))
	}
}

func (v *verdict) leave(when bool, what string, args ...any) {
	if when {
		v.unenforced = append(v.unenforced, fmt.Sprintf(what, args...))
	}
}

// refusal is the message to a pod that cannot run here; "" if it can.
func (v *verdict) refusal() string {
	if len(v.refused) == 0 {
		return ""
	}
	return "pods run as local processes on this node, which cannot have: " + strings.Join(v.refused, "; ")
}

// remark is the message about what is not enforced; "" if all is.
func (v *verdict) remark() string {
	if len(v.unenforced) == 0 {
		return ""
	}
	return "pods run as local processes, all of one user; not enforced here: " + strings.Join(v.unenforced, "; ")
}

// examine looks at every field that a process of this node may not be able to honour. What becomes of each field of the
// API is decided in fields_test.go, which fails for one that nobody has decided about.
func examine(pod *corev1.Pod) verdict {
	var v verdict
	spec := &pod.Spec
	v.refuse(len(spec.InitContainers) > 0, "init containers")
	v.refuse(spec.HostNetwork, "hostNetwork")
	v.refuse(spec.HostPID, "hostPID")
	v.refuse(spec.HostIPC, "hostIPC")
	v.refuse(isSet(spec.ShareProcessNamespace), "shareProcessNamespace")
	v.refuse(spec.HostUsers != nil && !*spec.HostUsers, "hostUsers: false")
	v.refuse(len(spec.HostAliases) > 0, "hostAliases")
	v.refuse(spec.DNSConfig != nil, "dnsConfig")
	v.refuse(isSet(spec.SetHostnameAsFQDN), "setHostnameAsFQDN")
	v.refuse(spec.RuntimeClassName != nil, "runtimeClassName")
	v.refuse(len(spec.Overhead) > 0, "overhead")
	v.refuse(spec.OS != nil && spec.OS.Name == corev1.Windows, "os %s", corev1.Windows)
	v.refuse(len(spec.ResourceClaims) > 0, "resourceClaims")
	v.leave(spec.Subdomain != "", "subdomain (there is no cluster DNS)")
	v.leave(spec.Resources != nil && len(spec.Resources.Limits) > 0, "limits of the pod")
	for i := range spec.Volumes {
		dir := spec.Volumes[i].EmptyDir
		v.leave(dir != nil && dir.SizeLimit != nil, "sizeLimit of volume %s", spec.Volumes[i].Name)
	}
	if spec.SecurityContext != nil {
		v.examineSecurity(spec.SecurityContext)
	}
	for i := range spec.Containers {
		own := examineContainer(pod, &spec.Containers[i])
		v.refused, v.unenforced = append(v.refused, own.refused...), append(v.unenforced, own.unenforced...)
	}
	return v
}

func (v *verdict) examineSecurity(s *corev1.PodSecurityContext) {
	v.refuse(len(s.Sysctls) > 0, "sysctls")
	v.refuse(s.WindowsOptions != nil, "windowsOptions")
	v.leave(s.RunAsUser != nil, "runAsUser")
	v.leave(s.RunAsGroup != nil, "runAsGroup")
	v.leave(isSet(s.RunAsNonRoot) && os.Geteuid() == 0, "runAsNonRoot")
	v.leave(len(s.SupplementalGroups) > 0 || s.SupplementalGroupsPolicy != nil, "supplementalGroups")
	v.leave(s.FSGroup != nil || s.FSGroupChangePolicy != nil, "fsGroup")
	v.leave(s.SELinuxOptions != nil || s.SELinuxChangePolicy != nil, "seLinuxOptions")
	v.leave(s.SeccompProfile != nil && s.SeccompProfile.Type != corev1.SeccompProfileTypeUnconfined, "seccompProfile")
	v.leave(s.AppArmorProfile != nil && s.AppArmorProfile.Type != corev1.AppArmorProfileTypeUnconfined, "appArmorProfile")
}

func examineContainer(pod *corev1.Pod, c *corev1.Container) verdict {
	var v verdict
	if hooks := c.Lifecycle; hooks != nil {
		v.refuse(hooks.PostStart != nil || hooks.PreStop != nil, "lifecycle hooks")
		v.refuse(hooks.StopSignal != nil && *hooks.StopSignal != corev1.SIGTERM, "a stop signal other than SIGTERM")
	}
	v.refuse(c.Stdin || c.StdinOnce || c.TTY, "stdin or tty")
	v.refuse(c.RestartPolicy != nil || len(c.RestartPolicyRules) > 0, "a restart policy of its own")
	v.refuse(len(c.VolumeDevices) > 0, "volumeDevices")
	v.refuse(c.TerminationMessagePath != "" && c.TerminationMessagePath != corev1.TerminationMessagePathDefault,
		"terminationMessagePath %s (terminationMessagePolicy: FallbackToLogsOnError takes the end of the log)", c.TerminationMessagePath)
	if c.WorkingDir != "" {
		info, err := os.Stat(c.WorkingDir)
		v.refuse(err != nil || !info.IsDir(), "workingDir %s, which is not there", c.WorkingDir)
	}
	for _, port := range c.Ports {
		v.refuse(port.HostPort != 0 || port.HostIP != "", "hostPort %d", port.HostPort)
		v.refuse(port.Protocol == corev1.ProtocolSCTP, "port %d of SCTP", port.ContainerPort)
	}
	for _, mount := range c.VolumeMounts {
		v.refuse(!mountable(pod, mount), "volume %s at %s (only the service account's token, and an emptyDir at /tmp, which is TMPDIR)", mount.Name, mount.MountPath)
	}
	v.refuse(len(c.Resources.Claims) > 0, "resource claims")
	v.leave(len(c.Resources.Limits) > 0, "limits")
	if c.SecurityContext != nil {
		v.examineContainerSecurity(c.SecurityContext)
	}
	for _, found := range []*[]string{&v.refused, &v.unenforced} {
		if len(*found) > 0 {
			*found = []string{"container " + c.Name + ": " + strings.Join(*found, ", ")}
		}
	}
	return v
}

func (v *verdict) examineContainerSecurity(s *corev1.SecurityContext) {
	v.refuse(isSet(s.Privileged), "privileged")
	v.refuse(s.ProcMount != nil && *s.ProcMount != corev1.DefaultProcMount, "procMount %s", deref(s.ProcMount))
	v.refuse(s.WindowsOptions != nil, "windowsOptions")
	if s.Capabilities != nil {
		v.refuse(len(s.Capabilities.Add) > 0, "more capabilities")
		v.leave(len(s.Capabilities.Drop) > 0, "capabilities that are dropped")
	}
	v.leave(s.RunAsUser != nil, "runAsUser")
	v.leave(s.RunAsGroup != nil, "runAsGroup")
	v.leave(isSet(s.RunAsNonRoot) && os.Geteuid() == 0, "runAsNonRoot")
	v.leave(isSet(s.ReadOnlyRootFilesystem), "readOnlyRootFilesystem")
	v.leave(s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation, "allowPrivilegeEscalation: false")
	v.leave(s.SELinuxOptions != nil, "seLinuxOptions")
	v.leave(s.SeccompProfile != nil && s.SeccompProfile.Type != corev1.SeccompProfileTypeUnconfined, "seccompProfile")
	v.leave(s.AppArmorProfile != nil && s.AppArmorProfile.Type != corev1.AppArmorProfileTypeUnconfined, "appArmorProfile")
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// mountable is true for what can be had without a file system of one's own.
func mountable(pod *corev1.Pod, mount corev1.VolumeMount) bool {
	i := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
	plain := mount.SubPath == "" && mount.SubPathExpr == "" && len(mount.BindMountOptions) == 0 &&
		(mount.MountPropagation == nil || *mount.MountPropagation == corev1.MountPropagationNone)
	if i < 0 || !plain {
		return false
	}
	volume := pod.Spec.Volumes[i]
	if dir := volume.EmptyDir; dir != nil {
		return mount.MountPath == "/tmp" && !mount.ReadOnly && dir.Medium == corev1.StorageMediumDefault && dir.Mode == nil
	}
	return volume.Projected != nil && volume.Projected.DefaultUser == nil && mount.MountPath == accountMount && !slices.ContainsFunc(volume.Projected.Sources, isForeign)
}

// isForeign is true for all that the service-account admission does not project itself.
func isForeign(s corev1.VolumeProjection) bool {
	switch {
	case s.ServiceAccountToken != nil:
		return s.ServiceAccountToken.Audience != "" || s.ServiceAccountToken.Path != "token" || s.ServiceAccountToken.User != nil
	case s.ConfigMap != nil:
		return s.ConfigMap.Name != rootCAMap
	case s.DownwardAPI != nil:
		return len(s.DownwardAPI.Items) != 1 || s.DownwardAPI.Items[0].Path != "namespace"
	default:
		return true
	}
}
