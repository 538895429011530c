package state

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"academy.example/lab/labctl/cluster/internal/pki"
)

// Cluster is the content of cluster.json.
type Cluster struct {
	Schema                 string           `json:"schema"`
	Name                   string           `json:"name"`
	PID                    int              `json:"pid"`
	Server                 string           `json:"server"`
	Kubeconfig             string           `json:"kubeconfig"`
	NodeSocket             string           `json:"nodeSocket"`
	AuditLog               string           `json:"auditLog"` // one JSON line for each request on a Lease
	PodStartLatencySeconds float64          `json:"podStartLatencySeconds"`
	Kubernetes             string           `json:"kubernetes"`
	Version                string           `json:"version"` // of academy-cluster itself, dev if it was built without one
	StartedAt              time.Time        `json:"startedAt"`
	Children               map[string]Child `json:"children"`
}

// Child is what cluster.json says of one child process.
type Child struct {
	PID int `json:"pid"`
}

// ReadCluster reads the cluster.json of a state folder, which need not be locked.
func ReadCluster(dir string) (Cluster, error) {
	path := filepath.Join(dir, "cluster.json")
	data, err := os.ReadFile(path)
	if err != nil {
		return Cluster{}, err
	}
	var c Cluster
	if err := json.Unmarshal(data, &c); err != nil {
		return Cluster{}, fmt.Errorf("read %s: %w", path, err)
	}
	return c, nil
}

// WriteCluster replaces cluster.json in one step.
func (f *Folder) WriteCluster(c Cluster) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("write cluster.json: %w", err)
	}
	return writeFile(f.Path("cluster.json"), append(data, '\n'))
}

// WriteKubeconfig writes a kubeconfig with everything embedded, whose cluster, context and user are all called name.
func WriteKubeconfig(path, name, server, caPath string, user pki.Pair) error {
	config := clientcmdapi.NewConfig()
	cluster, auth, context := clientcmdapi.NewCluster(), clientcmdapi.NewAuthInfo(), clientcmdapi.NewContext()
	for _, part := range []struct {
		path string
		into *[]byte
	}{{caPath, &cluster.CertificateAuthorityData}, {user.Cert, &auth.ClientCertificateData}, {user.Key, &auth.ClientKeyData}} {
		data, err := os.ReadFile(part.path)
		if err != nil {
			return fmt.Errorf("write kubeconfig: %w", err)
		}
		*part.into = data
	}
	cluster.Server = server
	context.Cluster, context.AuthInfo = name, name
	config.Clusters[name], config.AuthInfos[name], config.Contexts[name] = cluster, auth, context
	config.CurrentContext = name
	data, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return writeFile(path, data)
}
