// Package pki makes and keeps the cluster's certificates: two authorities, one for everything that talks to
// the API server, and one whose only purpose is to let a node recognise the API server.
package pki

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Pair is the paths of a certificate and its key.
type Pair struct{ Cert, Key string }

// Files are the paths of everything in a PKI folder, all PEM.
type Files struct {
	CA       Pair // cluster authority
	NodeCA   Pair // authority for the API server's client certificate towards nodes, and nothing else
	API      Pair // API server, serving
	Node     Pair // node, serving
	Kubelet  Pair // API server towards nodes, client, from NodeCA
	Admin    Pair // client, system:masters
	Control  Pair // controllers, client, system:masters
	NodeUser Pair // node agent towards the API server, client, system:masters
	// ServiceAccount signs tokens; its Cert is the public key alone.
	ServiceAccount Pair
}

// In returns the paths that a PKI in dir has; it touches no file.
func In(dir string) Files {
	pair := func(name string) Pair {
		return Pair{Cert: filepath.Join(dir, name+".crt"), Key: filepath.Join(dir, name+".key")}
	}
	return Files{
		CA: pair("ca"), NodeCA: pair("node-ca"), API: pair("apiserver"), Node: pair("node"), Kubelet: pair("kubelet-client"),
		Admin: pair("admin"), Control: pair("controllers"), NodeUser: pair("node-client"),
		ServiceAccount: Pair{Cert: filepath.Join(dir, "sa.pub"), Key: filepath.Join(dir, "sa.key")},
	}
}

// Config says what the serving certificates are valid for.
type Config struct {
	NodeName  string
	ServiceIP net.IP // the `kubernetes` service's address
	Now       time.Time
}

// ErrUnusable marks a PKI folder that exists but cannot be used.
var ErrUnusable = errors.New("unusable certificates")

// Ensure returns the PKI in dir, which it makes first if dir does not exist. A new one appears whole or not at all.
// An existing one that is incomplete, expired or does not fit together is an error that wraps ErrUnusable.
func Ensure(dir string, cfg Config) (Files, error) {
	files := In(dir)
	_, err := os.Stat(dir)
	switch {
	case err == nil:
		if err := files.check(cfg.Now); err != nil {
			return Files{}, fmt.Errorf("read %s: %w: %w", dir, ErrUnusable, err)
		}
		return files, nil
	case !errors.Is(err, fs.ErrNotExist):
		return Files{}, fmt.Errorf("read %s: %w", dir, err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".pki-*")
	if err != nil {
		return Files{}, fmt.Errorf("make certificates: %w", err)
	}
	defer os.RemoveAll(tmp)
	if err := generate(In(tmp), cfg); err != nil {
		return Files{}, fmt.Errorf("make certificates: %w", err)
	}
	if err := os.Rename(tmp, dir); err != nil {
		return Files{}, fmt.Errorf("make certificates: %w", err)
	}
	return files, nil
}

// check reads every pair and verifies it against its authority.
func (f Files) check(now time.Time) error {
	for _, issued := range []struct{ authority, leaf Pair }{
		{f.CA, f.API}, {f.CA, f.Node}, {f.CA, f.Admin}, {f.CA, f.Control}, {f.CA, f.NodeUser}, {f.NodeCA, f.Kubelet},
	} {
		pem, err := os.ReadFile(issued.authority.Cert)
		if err != nil {
			return err
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return fmt.Errorf("%s holds no certificate", filepath.Base(issued.authority.Cert))
		}
		pair, err := tls.LoadX509KeyPair(issued.leaf.Cert, issued.leaf.Key)
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(issued.leaf.Cert), err)
		}
		_, err = pair.Leaf.Verify(x509.VerifyOptions{
			Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
		})
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(issued.leaf.Cert), err)
		}
	}
	for _, path := range []string{f.ServiceAccount.Key, f.ServiceAccount.Cert, f.CA.Key, f.NodeCA.Key} {
		if info, err := os.Stat(path); err != nil {
			return err
		} else if info.Size() == 0 {
			return fmt.Errorf("%s is empty", filepath.Base(path))
		}
	}
	return nil
}
