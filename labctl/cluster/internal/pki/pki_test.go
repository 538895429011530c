package pki

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func config() Config {
	return Config{NodeName: "academy-node", ServiceIP: net.IPv4(10, 96, 0, 1), Now: time.Now()}
}

func ensure(t *testing.T) (string, Files) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "pki")
	files, err := Ensure(dir, config())
	if err != nil {
		t.Fatal(err)
	}
	return dir, files
}

func certificate(t *testing.T, path string) *x509.Certificate {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(data)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func TestEnsureKeepsWhatIsThere(t *testing.T) {
	dir, files := ensure(t)
	before := certificate(t, files.Admin.Cert)
	again, err := Ensure(dir, config())
	if err != nil {
		t.Fatal(err)
	}
	if after := certificate(t, again.Admin.Cert); !after.Equal(before) {
		t.Error("the admin certificate was replaced")
	}
}

func TestEnsureLeavesNothingHalfMade(t *testing.T) {
	dir, _ := ensure(t)
	left, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 1 {
		t.Errorf("got %d entries beside the PKI folder, want none: %v", len(left)-1, left)
	}
}

func TestFilesArePrivate(t *testing.T) {
	dir, _ := ensure(t)
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCertificatesServeTheirPurpose(t *testing.T) {
	_, files := ensure(t)
	for name, tt := range map[string]struct {
		pair  Pair
		ca    Pair
		not   Pair // an authority that must not vouch for it
		usage x509.ExtKeyUsage
		host  string
	}{
		"api":     {files.API, files.CA, files.NodeCA, x509.ExtKeyUsageServerAuth, "127.0.0.1"},
		"service": {files.API, files.CA, files.NodeCA, x509.ExtKeyUsageServerAuth, "10.96.0.1"},
		"node":    {files.Node, files.CA, files.NodeCA, x509.ExtKeyUsageServerAuth, "127.0.0.1"},
		"kubelet": {files.Kubelet, files.NodeCA, files.CA, x509.ExtKeyUsageClientAuth, ""},
		"admin":   {files.Admin, files.CA, files.NodeCA, x509.ExtKeyUsageClientAuth, ""},
		"control": {files.Control, files.CA, files.NodeCA, x509.ExtKeyUsageClientAuth, ""},
		"agent":   {files.NodeUser, files.CA, files.NodeCA, x509.ExtKeyUsageClientAuth, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cert := certificate(t, tt.pair.Cert)
			verify := func(ca Pair) error {
				roots := x509.NewCertPool()
				roots.AddCert(certificate(t, ca.Cert))
				_, err := cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: tt.host, KeyUsages: []x509.ExtKeyUsage{tt.usage}})
				return err
			}
			if err := verify(tt.ca); err != nil {
				t.Errorf("own authority: %v", err)
			}
			if err := verify(tt.not); err == nil {
				t.Error("the other authority vouches for it")
			}
			if hour := time.Now().Add(9 * 365 * 24 * time.Hour); cert.NotAfter.Before(hour) {
				t.Errorf("ends at %v", cert.NotAfter)
			}
		})
	}
}

func TestEachClientHasACertificateOfItsOwn(t *testing.T) {
	_, files := ensure(t)
	owner := map[string]string{} // by the key's file content
	for name, pair := range map[string]Pair{
		"API server, serving": files.API, "node, serving": files.Node, "API server to nodes": files.Kubelet,
		"admin": files.Admin, "controllers": files.Control, "node agent": files.NodeUser, "tokens": files.ServiceAccount,
	} {
		key, err := os.ReadFile(pair.Key)
		if err != nil {
			t.Fatal(err)
		}
		if other, taken := owner[string(key)]; taken {
			t.Errorf("%s and %s share a key", name, other)
		}
		owner[string(key)] = name
	}
	names := map[string]bool{}
	for _, pair := range []Pair{files.Admin, files.Control, files.NodeUser, files.Kubelet} {
		names[certificate(t, pair.Cert).Subject.CommonName] = true
	}
	if len(names) != 4 {
		t.Errorf("four clients have the names %v", names)
	}
}

func TestEnsureRefusesDamage(t *testing.T) {
	for name, damage := range map[string]func(Files) error{
		"missing":     func(f Files) error { return os.Remove(f.Kubelet.Key) },
		"cut short":   func(f Files) error { return os.Truncate(f.API.Cert, 20) },
		"empty key":   func(f Files) error { return os.Truncate(f.ServiceAccount.Key, 0) },
		"other's key": func(f Files) error { return os.Rename(f.Node.Key, f.API.Key) },
		"other's ca":  func(f Files) error { return os.Rename(f.NodeCA.Cert, f.CA.Cert) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, files := ensure(t)
			if err := damage(files); err != nil {
				t.Fatal(err)
			}
			if _, err := Ensure(dir, config()); !errors.Is(err, ErrUnusable) {
				t.Errorf("got %v, want ErrUnusable", err)
			}
		})
	}
}

func TestEnsureRefusesExpired(t *testing.T) {
	dir, _ := ensure(t)
	later := config()
	later.Now = later.Now.Add(validity + time.Hour)
	if _, err := Ensure(dir, later); !errors.Is(err, ErrUnusable) {
		t.Errorf("got %v, want ErrUnusable", err)
	}
}
