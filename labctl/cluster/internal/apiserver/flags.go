// Package apiserver runs a kube-apiserver for a cluster on loopback and tells when it can be used.
package apiserver

import (
	"strconv"

	"academy.example/lab/labctl/cluster/internal/etcd"
	"academy.example/lab/labctl/cluster/internal/pki"
)

// ServiceRange and ServiceIP are the service network and the `kubernetes` service's address in it.
const (
	ServiceRange = "10.96.0.0/16"
	ServiceIP    = "10.96.0.1"
)

// Config is what differs from one cluster to the next.
type Config struct {
	Port       int // on 127.0.0.1
	EtcdSocket string
	Files      pki.Files
	// AuditLog is where requests on Leases are logged, and AuditPolicyFile where Run writes what says so.
	AuditLog, AuditPolicyFile string
}

// Flags returns the whole command line of the API server, without the program name.
func Flags(cfg Config) []string {
	return []string{
		"--v=0",
		"--profiling=false",

		"--etcd-servers=" + etcd.Endpoint(cfg.EtcdSocket),
		// Failovers make many events. An hour of them, the default, is several MiB that nobody reads.
		"--event-ttl=15m",

		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(cfg.Port),
		// A loopback address may not be advertised. Nothing is: pods come in through relays on the host, and
		// without this flag the start fails on a host that has no network.
		"--advertise-address=192.0.2.2",
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=" + ServiceRange,
		"--tls-cert-file=" + cfg.Files.API.Cert,
		"--tls-private-key-file=" + cfg.Files.API.Key,

		// Without it anybody on this host could ask for the version and the state of health.
		"--anonymous-auth=false",
		"--client-ca-file=" + cfg.Files.CA.Cert,
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + cfg.Files.ServiceAccount.Cert,
		"--service-account-signing-key-file=" + cfg.Files.ServiceAccount.Key,
		// A pod's token ends when it says so, after an hour; by default the API server makes a year of it.
		"--service-account-extend-token-expiration=false",

		"--kubelet-client-certificate=" + cfg.Files.Kubelet.Cert,
		"--kubelet-client-key=" + cfg.Files.Kubelet.Key,
		"--kubelet-certificate-authority=" + cfg.Files.CA.Cert,
		"--kubelet-preferred-address-types=InternalIP",

		"--audit-policy-file=" + cfg.AuditPolicyFile,
		"--audit-log-path=" + cfg.AuditLog,
		"--audit-log-maxsize=" + strconv.Itoa(auditMegabytes),
		"--audit-log-maxbackup=1",

		// Coordinated leader election. Leases without a LeaseCandidate, which are all of the others, are left alone.
		"--feature-gates=CoordinatedLeaderElection=true",
		"--runtime-config=coordination.k8s.io/v1beta1=true",

		// The plugin taints every new node, and only the node lifecycle controller, which does not run, removes that.
		"--disable-admission-plugins=TaintNodesByCondition",
	}
}
