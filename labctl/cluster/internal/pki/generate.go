package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// A lab is thrown away long before its certificates end.
const validity = 10 * 365 * 24 * time.Hour

type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// generate writes a whole PKI. The RSA key takes longer than all the rest and is made beside it.
func generate(f Files, cfg Config) error {
	rsaDone := make(chan error, 1)
	go func() { rsaDone <- writeServiceAccountKey(f.ServiceAccount) }()
	err := writeCertificates(f, cfg)
	if rsaErr := <-rsaDone; err == nil {
		err = rsaErr
	}
	return err
}

func writeCertificates(f Files, cfg Config) error {
	ca, err := writeAuthority(f.CA, "academy-ca", cfg.Now)
	if err != nil {
		return err
	}
	nodeCA, err := writeAuthority(f.NodeCA, "academy-node-ca", cfg.Now)
	if err != nil {
		return err
	}
	loopback := net.IPv4(127, 0, 0, 1)
	serving := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	client := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	masters := []string{"system:masters"}
	for _, leaf := range []struct {
		pair     Pair
		by       authority
		template x509.Certificate
	}{
		{f.API, ca, x509.Certificate{
			Subject: pkix.Name{CommonName: "kube-apiserver"}, ExtKeyUsage: serving, IPAddresses: []net.IP{loopback, cfg.ServiceIP},
			DNSNames: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
		}},
		{f.Node, ca, x509.Certificate{
			Subject:     pkix.Name{CommonName: "system:node:" + cfg.NodeName, Organization: []string{"system:nodes"}},
			ExtKeyUsage: serving, IPAddresses: []net.IP{loopback}, DNSNames: []string{cfg.NodeName},
		}},
		{f.Kubelet, nodeCA, x509.Certificate{Subject: pkix.Name{CommonName: "kube-apiserver-kubelet-client"}, ExtKeyUsage: client}},
		// Bootstrap roles come seconds after the API server answers; system:masters needs none of them.
		{f.Admin, ca, x509.Certificate{Subject: pkix.Name{CommonName: "academy-admin", Organization: masters}, ExtKeyUsage: client}},
		{f.Control, ca, x509.Certificate{Subject: pkix.Name{CommonName: "academy-controllers", Organization: masters}, ExtKeyUsage: client}},
		{f.NodeUser, ca, x509.Certificate{Subject: pkix.Name{CommonName: "system:node:" + cfg.NodeName, Organization: masters}, ExtKeyUsage: client}},
	} {
		leaf.template.KeyUsage = x509.KeyUsageDigitalSignature
		if _, err := writeCertificate(leaf.pair, leaf.template, &leaf.by, cfg.Now); err != nil {
			return err
		}
	}
	return nil
}

func writeAuthority(p Pair, name string, now time.Time) (authority, error) {
	return writeCertificate(p, x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}, nil, now)
}

// writeCertificate makes a P-256 key and a certificate from the template, signed by by, or by itself if by is nil.
func writeCertificate(p Pair, template x509.Certificate, by *authority, now time.Time) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return authority{}, err
	}
	template.SerialNumber = serial
	// Clocks of a virtual machine may step back a little after it resumes.
	template.NotBefore, template.NotAfter = now.Add(-time.Hour), now.Add(validity)
	parent, signer := &template, crypto.Signer(key)
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, parent, key.Public(), signer)
	if err != nil {
		return authority{}, fmt.Errorf("sign %s: %w", template.Subject.CommonName, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return authority{}, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return authority{}, err
	}
	if err := writePEM(p.Key, "PRIVATE KEY", pkcs8); err != nil {
		return authority{}, err
	}
	return authority{cert: cert, key: key}, writePEM(p.Cert, "CERTIFICATE", der)
}

func writeServiceAccountKey(p Pair) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	if err := writePEM(p.Key, "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)); err != nil {
		return err
	}
	return writePEM(p.Cert, "PUBLIC KEY", public)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
