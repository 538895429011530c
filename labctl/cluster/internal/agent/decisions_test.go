package agent

import (
	"maps"
	"reflect"

	corev1 "k8s.io/api/core/v1"
)

// decisions says of each field of a pod's spec what becomes of it on this node.
func decisions() map[reflect.Type]map[string]decision {
	all := map[reflect.Type]map[string]decision{
		reflect.TypeFor[corev1.PodSpec]():            podFields(),
		reflect.TypeFor[corev1.PodSecurityContext](): podSecurityFields(),
		reflect.TypeFor[corev1.Container]():          containerFields(),
		reflect.TypeFor[corev1.SecurityContext]():    securityFields(),
	}
	maps.Copy(all, volumeFields())
	maps.Copy(all, smallFields())
	return all
}

func podFields() map[string]decision {
	return map[string]decision{
		"Volumes":    is(walked),
		"Containers": is(walked),
		"InitContainers": refuses("init containers", func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "first"}}
		}),
		"EphemeralContainers":           is(honoured), // that is: refused one by one, TestEphemeralContainer
		"RestartPolicy":                 is(honoured),
		"TerminationGracePeriodSeconds": is(honoured),
		"ActiveDeadlineSeconds":         is(honoured),
		"DNSPolicy":                     is(idle), // the machine's own resolver, always; every pod has a policy
		"DNSConfig":                     refuses("dnsConfig", func(p *corev1.Pod) { p.Spec.DNSConfig = &corev1.PodDNSConfig{} }),
		"NodeSelector":                  is(elsewhere),
		"ServiceAccountName":            is(honoured),
		"DeprecatedServiceAccount":      is(elsewhere),
		"AutomountServiceAccountToken":  is(elsewhere),
		"NodeName":                      is(honoured),
		"HostNetwork":                   refuses("hostNetwork", func(p *corev1.Pod) { p.Spec.HostNetwork = true }),
		"HostPID":                       refuses("hostPID", func(p *corev1.Pod) { p.Spec.HostPID = true }),
		"HostIPC":                       refuses("hostIPC", func(p *corev1.Pod) { p.Spec.HostIPC = true }),
		"ShareProcessNamespace":         refuses("shareProcessNamespace", func(p *corev1.Pod) { p.Spec.ShareProcessNamespace = ptr(true) }),
		"HostUsers":                     refuses("hostUsers: false", func(p *corev1.Pod) { p.Spec.HostUsers = ptr(false) }),
		"SecurityContext":               is(walked),
		"ImagePullSecrets":              is(idle),
		"Hostname":                      is(honoured), // as $HOSTNAME
		"HostnameOverride":              is(honoured), // as $HOSTNAME
		"Subdomain":                     leaves("subdomain", func(p *corev1.Pod) { p.Spec.Subdomain = "web" }),
		"SetHostnameAsFQDN":             refuses("setHostnameAsFQDN", func(p *corev1.Pod) { p.Spec.SetHostnameAsFQDN = ptr(true) }),
		"Affinity":                      is(elsewhere),
		"TopologySpreadConstraints":     is(elsewhere),
		"SchedulerName":                 is(elsewhere),
		"SchedulingGates":               is(elsewhere),
		"SchedulingGroup":               is(elsewhere), // alpha, and dropped by the API server
		"EvictionResponders":            is(elsewhere), // alpha, and dropped by the API server
		"Tolerations":                   is(elsewhere),
		"PriorityClassName":             is(idle),
		"Priority":                      is(idle),
		"PreemptionPolicy":              is(idle),
		"HostAliases": refuses("hostAliases", func(p *corev1.Pod) {
			p.Spec.HostAliases = []corev1.HostAlias{{IP: "10.0.0.1"}}
		}),
		"ReadinessGates":     is(honoured),
		"EnableServiceLinks": is(honoured),
		"RuntimeClassName":   refuses("runtimeClassName", func(p *corev1.Pod) { p.Spec.RuntimeClassName = ptr("gvisor") }),
		"Overhead":           refuses("overhead", func(p *corev1.Pod) { p.Spec.Overhead = quantity("1Mi") }),
		"OS":                 refuses("os windows", func(p *corev1.Pod) { p.Spec.OS = &corev1.PodOS{Name: corev1.Windows} }),
		"ResourceClaims": refuses("resourceClaims", func(p *corev1.Pod) {
			p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}}
		}),
		"Resources": leaves("limits of the pod", func(p *corev1.Pod) {
			p.Spec.Resources = &corev1.ResourceRequirements{Limits: quantity("1Mi")}
		}),
	}
}

func podSecurityFields() map[string]decision {
	type context = corev1.PodSecurityContext
	return map[string]decision{
		"SELinuxOptions":           leaves("seLinuxOptions", ofPodSecurity(func(s *context) { s.SELinuxOptions = &corev1.SELinuxOptions{} })),
		"SELinuxChangePolicy":      leaves("seLinuxOptions", ofPodSecurity(func(s *context) { s.SELinuxChangePolicy = ptr(corev1.SELinuxChangePolicyRecursive) })),
		"WindowsOptions":           refuses("windowsOptions", ofPodSecurity(func(s *context) { s.WindowsOptions = &corev1.WindowsSecurityContextOptions{} })),
		"RunAsUser":                leaves("runAsUser", ofPodSecurity(func(s *context) { s.RunAsUser = ptr(int64(1)) })),
		"RunAsGroup":               leaves("runAsGroup", ofPodSecurity(func(s *context) { s.RunAsGroup = ptr(int64(1)) })),
		"RunAsNonRoot":             asOthers(ofPodSecurity(func(s *context) { s.RunAsNonRoot = ptr(true) })),
		"SupplementalGroups":       leaves("supplementalGroups", ofPodSecurity(func(s *context) { s.SupplementalGroups = []int64{1} })),
		"SupplementalGroupsPolicy": leaves("supplementalGroups", ofPodSecurity(func(s *context) { s.SupplementalGroupsPolicy = ptr(corev1.SupplementalGroupsPolicyStrict) })),
		"FSGroup":                  leaves("fsGroup", ofPodSecurity(func(s *context) { s.FSGroup = ptr(int64(1)) })),
		"FSGroupChangePolicy":      leaves("fsGroup", ofPodSecurity(func(s *context) { s.FSGroupChangePolicy = ptr(corev1.FSGroupChangeAlways) })),
		"Sysctls":                  refuses("sysctls", ofPodSecurity(func(s *context) { s.Sysctls = []corev1.Sysctl{{Name: "a", Value: "1"}} })),
		"SeccompProfile":           leaves("seccompProfile", ofPodSecurity(func(s *context) { s.SeccompProfile = &corev1.SeccompProfile{} })),
		"AppArmorProfile":          leaves("appArmorProfile", ofPodSecurity(func(s *context) { s.AppArmorProfile = &corev1.AppArmorProfile{} })),
	}
}

func containerFields() map[string]decision {
	type container = corev1.Container
	return map[string]decision{
		"Name": is(honoured), "Image": is(honoured), "Command": is(honoured), "Args": is(honoured),
		"WorkingDir":         refuses("workingDir /nowhere", ofMain(func(c *container) { c.WorkingDir = "/nowhere" })),
		"Ports":              is(walked),
		"EnvFrom":            is(walked),
		"Env":                is(walked),
		"Resources":          is(walked),
		"ResizePolicy":       is(idle), // the API server refuses a resize
		"RestartPolicy":      refuses("a restart policy", ofMain(func(c *container) { c.RestartPolicy = ptr(corev1.ContainerRestartPolicyAlways) })),
		"RestartPolicyRules": refuses("a restart policy", ofMain(func(c *container) { c.RestartPolicyRules = []corev1.ContainerRestartRule{{}} })),
		"VolumeMounts":       is(walked),
		"VolumeDevices":      refuses("volumeDevices", ofMain(func(c *container) { c.VolumeDevices = []corev1.VolumeDevice{{}} })),
		"LivenessProbe":      is(walked), "ReadinessProbe": is(walked), "StartupProbe": is(walked),
		"Lifecycle":                is(walked),
		"TerminationMessagePath":   refuses("terminationMessagePath /x", ofMain(func(c *container) { c.TerminationMessagePath = "/x" })),
		"TerminationMessagePolicy": is(honoured),
		"ImagePullPolicy":          is(idle),
		"SecurityContext":          is(walked),
		"Stdin":                    refuses("stdin or tty", ofMain(func(c *container) { c.Stdin = true })),
		"StdinOnce":                refuses("stdin or tty", ofMain(func(c *container) { c.StdinOnce = true })),
		"TTY":                      refuses("stdin or tty", ofMain(func(c *container) { c.TTY = true })),
	}
}

func securityFields() map[string]decision {
	type context = corev1.SecurityContext
	return map[string]decision{
		"Capabilities":             is(walked),
		"Privileged":               refuses("privileged", ofSecurity(func(s *context) { s.Privileged = ptr(true) })),
		"SELinuxOptions":           leaves("seLinuxOptions", ofSecurity(func(s *context) { s.SELinuxOptions = &corev1.SELinuxOptions{} })),
		"WindowsOptions":           refuses("windowsOptions", ofSecurity(func(s *context) { s.WindowsOptions = &corev1.WindowsSecurityContextOptions{} })),
		"RunAsUser":                leaves("runAsUser", ofSecurity(func(s *context) { s.RunAsUser = ptr(int64(1)) })),
		"RunAsGroup":               leaves("runAsGroup", ofSecurity(func(s *context) { s.RunAsGroup = ptr(int64(1)) })),
		"RunAsNonRoot":             asOthers(ofSecurity(func(s *context) { s.RunAsNonRoot = ptr(true) })),
		"ReadOnlyRootFilesystem":   leaves("readOnlyRootFilesystem", ofSecurity(func(s *context) { s.ReadOnlyRootFilesystem = ptr(true) })),
		"AllowPrivilegeEscalation": leaves("allowPrivilegeEscalation", ofSecurity(func(s *context) { s.AllowPrivilegeEscalation = ptr(false) })),
		"ProcMount":                refuses("procMount", ofSecurity(func(s *context) { s.ProcMount = ptr(corev1.UnmaskedProcMount) })),
		"SeccompProfile":           leaves("seccompProfile", ofSecurity(func(s *context) { s.SeccompProfile = &corev1.SeccompProfile{} })),
		"AppArmorProfile":          leaves("appArmorProfile", ofSecurity(func(s *context) { s.AppArmorProfile = &corev1.AppArmorProfile{} })),
	}
}

// volumeFields are of volumes as far as they are mounted; one that no container mounts makes no difference.
func volumeFields() map[reflect.Type]map[string]decision {
	type mount = corev1.VolumeMount
	type dir = corev1.EmptyDirVolumeSource
	source := func(set func(*corev1.VolumeSource)) decision {
		return refuses("volume tmp at /tmp", func(p *corev1.Pod) {
			ofMount(func(*mount, *dir) {})(p)
			p.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{}
			set(&p.Spec.Volumes[0].VolumeSource)
		})
	}
	sources := map[string]decision{"EmptyDir": is(walked), "Projected": is(walked)}
	kind := reflect.TypeFor[corev1.VolumeSource]()
	for i := range kind.NumField() {
		if name := kind.Field(i).Name; sources[name].how == "" {
			// Whatever it is, it is not one of the two that are known.
			sources[name] = source(func(v *corev1.VolumeSource) {
				reflect.ValueOf(v).Elem().FieldByName(name).Set(reflect.New(kind.Field(i).Type.Elem()))
			})
		}
	}
	all := mountFields()
	all[reflect.TypeFor[corev1.Volume]()] = map[string]decision{"Name": is(honoured), "VolumeSource": is(walked)}
	all[kind] = sources
	return all
}

func mountFields() map[reflect.Type]map[string]decision {
	type mount = corev1.VolumeMount
	type dir = corev1.EmptyDirVolumeSource
	return map[reflect.Type]map[string]decision{
		reflect.TypeFor[mount](): {
			"Name": is(honoured), "RecursiveReadOnly": is(idle), // it needs ReadOnly
			"MountPath":        refuses("volume tmp at /data", ofMount(func(m *mount, _ *dir) { m.MountPath = "/data" })),
			"ReadOnly":         refuses("volume tmp", ofMount(func(m *mount, _ *dir) { m.ReadOnly = true })),
			"SubPath":          refuses("volume tmp", ofMount(func(m *mount, _ *dir) { m.SubPath = "a" })),
			"SubPathExpr":      refuses("volume tmp", ofMount(func(m *mount, _ *dir) { m.SubPathExpr = "a" })),
			"MountPropagation": refuses("volume tmp", ofMount(func(m *mount, _ *dir) { m.MountPropagation = ptr(corev1.MountPropagationHostToContainer) })),
			"BindMountOptions": refuses("volume tmp", ofMount(func(m *mount, _ *dir) { m.BindMountOptions = []string{"noexec"} })),
		},
		reflect.TypeFor[dir](): {
			"Medium":    refuses("volume tmp", ofMount(func(_ *mount, d *dir) { d.Medium = corev1.StorageMediumMemory })),
			"Mode":      refuses("volume tmp", ofMount(func(_ *mount, d *dir) { d.Mode = ptr(int32(0o700)) })),
			"SizeLimit": leaves("sizeLimit of volume tmp", ofMount(func(_ *mount, d *dir) { d.SizeLimit = ptr(quantity("1Mi")[corev1.ResourceMemory]) })),
		},
		reflect.TypeFor[corev1.ProjectedVolumeSource](): {
			"Sources": is(walked), "DefaultMode": is(idle),
			"DefaultUser": refuses("volume account", func(p *corev1.Pod) {
				ofToken(func(*corev1.VolumeProjection) {})(p)
				p.Spec.Volumes[0].Projected.DefaultUser = ptr(int64(1))
			}),
		},
		reflect.TypeFor[corev1.VolumeProjection](): {
			"ServiceAccountToken": is(walked),
			"Secret":              refuses("volume account", ofToken(func(v *corev1.VolumeProjection) { *v = corev1.VolumeProjection{Secret: &corev1.SecretProjection{}} })),
			"DownwardAPI": refuses("volume account", ofToken(func(v *corev1.VolumeProjection) {
				*v = corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{}}
			})),
			"ConfigMap": refuses("volume account", ofToken(func(v *corev1.VolumeProjection) {
				*v = corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{}}
			})),
			"ClusterTrustBundle": refuses("volume account", ofToken(func(v *corev1.VolumeProjection) {
				*v = corev1.VolumeProjection{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{}}
			})),
			"PodCertificate": refuses("volume account", ofToken(func(v *corev1.VolumeProjection) {
				*v = corev1.VolumeProjection{PodCertificate: &corev1.PodCertificateProjection{}}
			})),
		},
		reflect.TypeFor[corev1.ServiceAccountTokenProjection](): {
			"Audience":          refuses("volume account", ofToken(func(v *corev1.VolumeProjection) { v.ServiceAccountToken.Audience = "vault" })),
			"Path":              refuses("volume account", ofToken(func(v *corev1.VolumeProjection) { v.ServiceAccountToken.Path = "jwt" })),
			"User":              refuses("volume account", ofToken(func(v *corev1.VolumeProjection) { v.ServiceAccountToken.User = ptr(int64(1)) })),
			"ExpirationSeconds": is(honoured),
		},
	}
}

func smallFields() map[reflect.Type]map[string]decision {
	type port = corev1.ContainerPort
	ofPort := func(f func(*port)) func(*corev1.Pod) {
		return ofMain(func(c *corev1.Container) {
			c.Ports = []port{{ContainerPort: 8080}}
			f(&c.Ports[0])
		})
	}
	ofHooks := func(f func(*corev1.Lifecycle)) func(*corev1.Pod) {
		return ofMain(func(c *corev1.Container) {
			c.Lifecycle = &corev1.Lifecycle{}
			f(c.Lifecycle)
		})
	}
	ofCapabilities := func(c corev1.Capabilities) func(*corev1.Pod) {
		return ofSecurity(func(s *corev1.SecurityContext) { s.Capabilities = &c })
	}
	return map[reflect.Type]map[string]decision{
		reflect.TypeFor[port](): {
			"Name": is(honoured), "ContainerPort": is(honoured),
			"Protocol": refuses("port 8080 of SCTP", ofPort(func(p *port) { p.Protocol = corev1.ProtocolSCTP })),
			"HostPort": refuses("hostPort 80", ofPort(func(p *port) { p.HostPort = 80 })),
			"HostIP":   refuses("hostPort", ofPort(func(p *port) { p.HostIP = "127.0.0.1" })),
		},
		reflect.TypeFor[corev1.EnvVar]():        {"Name": is(honoured), "Value": is(honoured), "ValueFrom": is(walked)},
		reflect.TypeFor[corev1.EnvFromSource](): {"Prefix": is(honoured), "ConfigMapRef": is(honoured), "SecretRef": is(honoured)},
		reflect.TypeFor[corev1.EnvVarSource](): {
			"FieldRef": is(honoured), "ResourceFieldRef": is(honoured), "ConfigMapKeyRef": is(honoured), "SecretKeyRef": is(honoured),
			"FileKeyRef": is(honoured), // that is: refused when the environment is made, TestRefused
		},
		reflect.TypeFor[corev1.ResourceRequirements](): {
			"Limits":   leaves("limits", ofMain(func(c *corev1.Container) { c.Resources.Limits = quantity("1Mi") })),
			"Requests": is(elsewhere),
			"Claims":   refuses("resource claims", ofMain(func(c *corev1.Container) { c.Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}} })),
		},
		reflect.TypeFor[corev1.Lifecycle](): {
			"PostStart":  refuses("lifecycle hooks", ofHooks(func(l *corev1.Lifecycle) { l.PostStart = &corev1.LifecycleHandler{} })),
			"PreStop":    refuses("lifecycle hooks", ofHooks(func(l *corev1.Lifecycle) { l.PreStop = &corev1.LifecycleHandler{} })),
			"StopSignal": refuses("a stop signal", ofHooks(func(l *corev1.Lifecycle) { l.StopSignal = ptr(corev1.SIGUSR1) })),
		},
		reflect.TypeFor[corev1.Probe](): {
			"ProbeHandler": is(walked), "InitialDelaySeconds": is(honoured), "TimeoutSeconds": is(honoured), "PeriodSeconds": is(honoured),
			"SuccessThreshold": is(honoured), "FailureThreshold": is(honoured), "TerminationGracePeriodSeconds": is(honoured),
		},
		reflect.TypeFor[corev1.ProbeHandler]():  {"Exec": is(honoured), "HTTPGet": is(walked), "TCPSocket": is(honoured), "GRPC": is(walked)},
		reflect.TypeFor[corev1.GRPCAction]():    {"Port": is(honoured), "Service": is(honoured), "Mode": is(honoured)},
		reflect.TypeFor[corev1.HTTPGetAction](): {"Path": is(honoured), "Port": is(honoured), "Host": is(honoured), "Scheme": is(honoured), "HTTPHeaders": is(honoured), "Protocol": is(honoured)},
		reflect.TypeFor[corev1.Capabilities](): {
			"Add":  refuses("more capabilities", ofCapabilities(corev1.Capabilities{Add: []corev1.Capability{"NET_ADMIN"}})),
			"Drop": leaves("capabilities that are dropped", ofCapabilities(corev1.Capabilities{Drop: []corev1.Capability{"ALL"}})),
		},
	}
}
