package image

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"academy.example/lab/labctl/internal/provider"
)

// program builds a small static Linux program.
func program(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte("package main\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "operator")
	build := exec.Command("go", "build", "-o", out, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

func entries(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWriteDocker_NamesTheImageAndHoldsTheProgram(t *testing.T) {
	path := program(t)
	i, err := New("example.com/operator:lab", path)
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	if err := errors.Join(i.WriteDocker(&first), i.WriteDocker(&second)); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Fatalf("two archives of one program differ (%v)", err)
	}
	files := entries(t, first.Bytes())
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal(files["manifest.json"], &manifest); err != nil || len(manifest) != 1 {
		t.Fatalf("manifest %s: %v", files["manifest.json"], err)
	}
	if got := manifest[0].RepoTags; !slices.Equal(got, []string{"example.com/operator:lab"}) {
		t.Errorf("named %v", got)
	}
	if want := digest(files[manifest[0].Config]); want != i.ID() {
		t.Errorf("ID %s, but the configuration has digest %s", i.ID(), want)
	}
	var config struct {
		Architecture, OS string
		Rootfs           struct {
			DiffIDs []string `json:"diff_ids"`
		}
		Config struct{ Entrypoint []string }
	}
	layer := files[manifest[0].Layers[0]]
	if err := json.Unmarshal(files[manifest[0].Config], &config); err != nil {
		t.Fatal(err)
	}
	if config.Architecture != "amd64" || config.OS != "linux" || config.Rootfs.DiffIDs[0] != digest(layer) || config.Config.Entrypoint[0] != "/operator" {
		t.Errorf("configuration %+v of a layer %s", config, digest(layer))
	}
	want, err := os.ReadFile(path)
	if inside := entries(t, layer); err != nil || !bytes.Equal(inside["operator"], want) {
		t.Errorf("the layer does not hold the program (%v)", err)
	} else if _, found := inside["tmp/"]; !found {
		t.Error("the layer has no /tmp")
	}
}

func TestWriteOCI_EveryBlobHasItsDigest(t *testing.T) {
	i, err := New("example.com/operator:lab", program(t))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := i.WriteOCI(&out); err != nil {
		t.Fatal(err)
	}
	files := entries(t, out.Bytes())
	var index struct{ Manifests []descriptor }
	if err := json.Unmarshal(files["index.json"], &index); err != nil {
		t.Fatal(err)
	}
	if got := index.Manifests[0].Annotations["io.containerd.image.name"]; got != i.Name {
		t.Errorf("named %q", got)
	}
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	blob := func(d descriptor) []byte { return files["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")] }
	if err := json.Unmarshal(blob(index.Manifests[0]), &manifest); err != nil {
		t.Fatal(err)
	}
	for _, d := range append(manifest.Layers, manifest.Config, index.Manifests[0]) {
		if data := blob(d); len(data) != d.Size || digest(data) != d.Digest {
			t.Errorf("%s: %d bytes of digest %s", d.Digest, len(data), digest(data))
		}
	}
	if manifest.Config.Digest != i.ID() {
		t.Errorf("ID %s, manifest names %s", i.ID(), manifest.Config.Digest)
	}
}

func TestNew_WhatNoContainerRunsIsRefusedWithTheWayToBuildIt(t *testing.T) {
	script := filepath.Join(t.TempDir(), "operator")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{script, "/nowhere/operator"} {
		var problem *provider.Problem
		if _, err := New("x:y", path); !errors.As(err, &problem) || !strings.Contains(problem.Hint, "GOOS=linux") {
			t.Errorf("%s: got %v, want a problem with the command that builds it", path, err)
		}
	}
}
