package evidence

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// RunPath is where a run's file stands in an archive.
func RunPath(run, file string) string { return "runs/" + run + "/" + file }

// Add puts a file into the bundle. The error says why it can't be in one.
func (b *Bundle) Add(path string, data []byte) error {
	if !pathNames.MatchString(path) {
		return fmt.Errorf("%q is no name of a file in an archive of evidence", path)
	}
	if b.Files == nil {
		b.Files = map[string][]byte{}
	}
	b.Files[path] = data
	return nil
}

// Write seals the bundle and packs it. The same content gives the same bytes.
func (b *Bundle) Write(out io.Writer) error {
	order := slices.SortedFunc(maps.Keys(b.Files), inOrder)
	b.Seal(order)
	raw, err := b.tar(order, encode(b.Manifest))
	if err != nil {
		return err
	}
	switch {
	case len(raw) > mostUnpacked:
		return fmt.Errorf("the runs take %d MB, more than the %d MB that an archive may hold", len(raw)>>20, mostUnpacked>>20)
	case len(order) > mostFiles:
		return fmt.Errorf("there are %d files, more than the %d that an archive may hold", len(order), mostFiles)
	}
	zip, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := zip.Write(raw); err != nil {
		return err
	}
	return zip.Close()
}

// inOrder puts what is small and names the student first, so that of an archive that was cut short it is still known whose it is.
func inOrder(a, b string) int {
	rank := func(path string) int {
		switch {
		case path == progressFile:
			return 0
		case strings.HasPrefix(path, "checklists/"):
			return 1
		default:
			return 2
		}
	}
	return cmp.Or(rank(a)-rank(b), strings.Compare(a, b))
}

// tar is the archive before it is compressed. Its headers have a name and a size, and nothing of the machine or the day.
func (b *Bundle) tar(order []string, manifest []byte) ([]byte, error) {
	var raw bytes.Buffer
	archive := tar.NewWriter(&raw)
	add := func(path string, data []byte) error {
		err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path, Size: int64(len(data)), Mode: 0o600, Format: tar.FormatUSTAR})
		if err == nil {
			_, err = archive.Write(data)
		}
		return err
	}
	err := add(manifestFile, manifest)
	for _, path := range order {
		if err == nil {
			err = add(path, b.Files[path])
		}
	}
	if err == nil {
		err = archive.Close()
	}
	return raw.Bytes(), err
}

// packed is how the first bytes of an archive are: gzip's, at its best, without a name and a time.
var packed = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 0xff}
