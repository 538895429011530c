package kind

import (
	"os"
	"path/filepath"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"

	"academy.example/lab/labctl/internal/provider/audit"
	"academy.example/lab/labctl/internal/provider/home"
	"academy.example/lab/labctl/internal/whole"
	"academy.example/lab/operator/api"
)

// auditLog is where the API server writes its log of the requests on Leases, in the control plane's container.
const auditLog = "/var/log/labctl/audit.jsonl"

// nodeFolder is where a node finds the lab's files for it.
const nodeFolder = "/etc/labctl"

// mounted is the folder of this machine that every node has at nodeFolder; a lab knows its own containers by it.
func mounted(state string) string { return filepath.Join(state, "node") }

// serverPatch makes the API server log the requests on Leases, by the policy that the nodes have in nodeFolder, and coordinate
// elections. The gate is the API server's alone: the other components of the node contend for their Leases as ever.
const serverPatch = `kind: ClusterConfiguration
apiServer:
  extraArgs:
  - {name: audit-policy-file, value: ` + nodeFolder + `/audit-policy.yaml}
  - {name: audit-log-path, value: ` + auditLog + `}
  - {name: audit-log-maxsize, value: "10"}
  - {name: audit-log-maxbackup, value: "1"}
  - {name: feature-gates, value: "` + api.CoordinationGate + `=true"}
  - {name: runtime-config, value: "` + api.CoordinationVersion + `=true"}
  extraVolumes:
  - {name: audit-policy, hostPath: ` + nodeFolder + `, mountPath: ` + nodeFolder + `, readOnly: true, pathType: Directory}
  - {name: audit-log, hostPath: /var/log/labctl, mountPath: /var/log/labctl, readOnly: false, pathType: DirectoryOrCreate}
`

// cgroupPatch lets the kubelet start where the machine has cgroup v1 only.
const cgroupPatch = "kind: KubeletConfiguration\nfailCgroupV1: false\n"

// configuration is the cluster: a control plane, which takes no ordinary pods, and a worker, which gets all replicas.
func configuration(at home.Home, i info) *v1alpha4.Cluster {
	mount := []v1alpha4.Mount{{HostPath: mounted(at.State), ContainerPath: nodeFolder, Readonly: true}}
	cluster := &v1alpha4.Cluster{
		TypeMeta: v1alpha4.TypeMeta{Kind: "Cluster", APIVersion: "kind.x-k8s.io/v1alpha4"},
		Nodes: []v1alpha4.Node{
			{Role: v1alpha4.ControlPlaneRole, ExtraMounts: mount, KubeadmConfigPatches: []string{serverPatch}},
			{Role: v1alpha4.WorkerRole, ExtraMounts: mount},
		},
	}
	if i.cgroup == "1" {
		cluster.KubeadmConfigPatches = []string{cgroupPatch}
	}
	return cluster
}

// writeNodeFolder makes what the nodes have mounted.
func writeNodeFolder(at home.Home) error {
	if err := home.Private(mounted(at.State)); err != nil {
		return err
	}
	return whole.Write(filepath.Join(mounted(at.State), "audit-policy.yaml"), []byte(audit.Policy), 0o600)
}

// removeAll removes files of which some may not be there.
func removeAll(paths ...string) {
	for _, path := range paths {
		os.Remove(path)
	}
}
