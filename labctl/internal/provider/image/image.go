// Package image makes a container image of one program and nothing else, without Docker and without a base image: an
// archive that a node's container runtime takes in.
package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/operator/api"
)

// Image is an image of one layer: a program and an empty /tmp. The same program gives the same bytes.
type Image struct {
	// Name is the full name with its tag, as a pod's manifest has it.
	Name string

	layer, config []byte
}

// architectures maps what an ELF file says to what Go and images call it.
var architectures = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}

// New reads the program, which must be a static Linux one.
func New(name, program string) (*Image, error) {
	architecture, err := check(program)
	if err != nil {
		return nil, &provider.Problem{Err: fmt.Errorf("make image %s: %w", name, err), Hint: buildHint(program)}
	}
	data, err := os.ReadFile(program)
	if err != nil {
		return nil, fmt.Errorf("make image %s: %w", name, err)
	}
	base := strings.TrimSuffix(filepath.Base(program), LinuxSuffix)
	layer, err := archive([]file{{"tmp/", nil, 0o1777}, {base, data, 0o755}})
	if err != nil {
		return nil, fmt.Errorf("make image %s: %w", name, err)
	}
	config, err := json.Marshal(map[string]any{
		"architecture": architecture, "os": "linux", "created": "1970-01-01T00:00:00Z",
		"config":  map[string]any{"Entrypoint": []string{"/" + base}, "WorkingDir": "/", "Env": []string{"PATH=/"}}, // so that exec finds it
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{digest(layer)}},
		"history": []map[string]string{{"created": "1970-01-01T00:00:00Z", "created_by": "labctl"}},
	})
	return &Image{Name: name, layer: layer, config: config}, err
}

// buildHint is the command that makes such a program; the operator's has a name of its own beside one for this machine.
func buildHint(program string) string {
	const build = "CGO_ENABLED=0 GOOS=linux go build -ldflags '-s -w' -o "
	if filepath.Base(program) == api.Program {
		return build + program + LinuxSuffix + " ./operator"
	}
	return build + program + " ."
}

// LinuxSuffix is what the name of a Linux program ends with, where one for another system stands beside it.
const LinuxSuffix = "-linux"

// check refuses what no container could run, and returns the architecture.
func check(program string) (string, error) {
	f, err := elf.Open(program)
	if err != nil {
		return "", fmt.Errorf("%s is no Linux program: %w", program, err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return "", fmt.Errorf("%s needs a dynamic linker, which the image does not have", program)
		}
	}
	architecture, known := architectures[f.Machine]
	if !known {
		return "", fmt.Errorf("%s is for the processor %s, which no node image is made for", program, f.Machine)
	}
	return architecture, nil
}

// ID is the image's id as a container runtime shows it: the digest of its configuration.
func (i *Image) ID() string { return digest(i.config) }

// WriteDocker writes the archive that `docker save` would: for `ctr images import` and kind's LoadImageArchive.
func (i *Image) WriteDocker(w io.Writer) error {
	config, layer := plain(i.config)+".json", plain(i.layer)+"/layer.tar"
	manifest, err := json.Marshal([]map[string]any{{"Config": config, "RepoTags": []string{i.Name}, "Layers": []string{layer}}})
	if err != nil {
		return err
	}
	return write(w, []file{{config, i.config, 0o644}, {layer, i.layer, 0o644}, {"manifest.json", manifest, 0o644}})
}

const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar"
)

// descriptor names a blob in an OCI layout.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

func describe(mediaType string, blob []byte) descriptor {
	return descriptor{MediaType: mediaType, Digest: digest(blob), Size: len(blob)}
}

// WriteOCI writes an archive of an OCI image layout: what registries and their tools take.
func (i *Image) WriteOCI(w io.Writer) error {
	manifest, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": typeManifest,
		"config": describe(typeConfig, i.config), "layers": []descriptor{describe(typeLayer, i.layer)}})
	if err != nil {
		return err
	}
	named := describe(typeManifest, manifest)
	named.Annotations = map[string]string{"io.containerd.image.name": i.Name, "org.opencontainers.image.ref.name": i.Name}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": typeIndex, "manifests": []descriptor{named}})
	if err != nil {
		return err
	}
	files := []file{{"oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644}, {"index.json", index, 0o644}}
	for _, blob := range [][]byte{manifest, i.config, i.layer} {
		files = append(files, file{"blobs/sha256/" + plain(blob), blob, 0o644})
	}
	return write(w, files)
}

// file is an entry of an archive; a folder's name ends with a slash.
type file struct {
	name string
	data []byte
	mode int64
}

func archive(files []file) ([]byte, error) {
	var out bytes.Buffer
	err := write(&out, files)
	return out.Bytes(), err
}

// write writes a tar archive in which nothing depends on when, where or by whom it was made.
func write(w io.Writer, files []file) error {
	out := tar.NewWriter(w)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if f.data == nil {
			header.Typeflag = tar.TypeDir
		}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		if _, err := out.Write(f.data); err != nil {
			return err
		}
	}
	return out.Close()
}

func plain(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func digest(data []byte) string { return "sha256:" + plain(data) }
