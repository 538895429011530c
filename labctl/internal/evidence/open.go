package evidence

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"academy.example/lab/labctl/internal/report"
)

// Open reads an archive and says what is wrong with it as an archive: whether each file is what the manifest says. What
// could be read is returned whatever is wrong.
func Open(in io.Reader) (Bundle, []Finding) {
	o := opening{bundle: Bundle{Files: map[string][]byte{}}}
	if raw, whole := o.unzip(in); len(raw) > 0 {
		o.untar(raw, whole)
	}
	return o.bundle, o.findings
}

type opening struct {
	bundle   Bundle
	findings findings
	manifest []byte
	order    []string // of the files as they stand in the archive
}

// unzip returns what the archive holds, as far as it can be read.
func (o *opening) unzip(in io.Reader) (raw []byte, whole bool) {
	data, err := io.ReadAll(io.LimitReader(in, mostPacked+1))
	switch {
	case err != nil:
		o.findings.fail(Unreadable, "", "it can't be read: %v", err)
		return nil, false
	case len(data) > mostPacked:
		o.findings.fail(Unreadable, "", "it is larger than %d MB", mostPacked>>20)
		return nil, false
	case len(data) == 0:
		o.findings.fail(Truncated, "", "it is empty")
		return nil, false
	}
	rest := bytes.NewReader(data)
	zip, err := gzip.NewReader(rest)
	if err != nil {
		o.findings.fail(Unreadable, "", "it is no archive of evidence: %v", err)
		return nil, false
	}
	zip.Multistream(false)
	raw, err = io.ReadAll(io.LimitReader(zip, mostUnpacked+1))
	switch {
	case len(raw) > mostUnpacked:
		o.findings.fail(Unreadable, "", "it holds more than %d MB", mostUnpacked>>20)
		return nil, false
	case errors.Is(err, io.ErrUnexpectedEOF):
		o.findings.fail(Truncated, "", "it ends in the middle")
	case err != nil:
		o.findings.fail(Damaged, "", "its compressed bytes were changed: %v", err)
	case rest.Len() > 0:
		o.findings.unknown(Repacked, "", "%d bytes follow its end", rest.Len())
	case !bytes.HasPrefix(data, packed):
		o.findings.unknown(Repacked, "", "it was not packed by labctl as it stands: its first bytes are others")
	}
	return raw, err == nil
}

// untar reads the files and holds them against the manifest.
func (o *opening) untar(raw []byte, whole bool) {
	archive := tar.NewReader(bytes.NewReader(raw))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = o.file(header, archive)
		}
		if err != nil {
			o.broken(whole, header, err)
			break
		}
	}
	if o.manifest == nil {
		if whole {
			o.findings.fail(Missing, manifestFile, "it has no manifest")
		}
		return
	}
	if !o.readManifest() {
		return
	}
	o.compare(whole)
	if whole && len(o.findings) == 0 {
		if again, err := o.bundle.tar(o.order, o.manifest); err != nil || !bytes.Equal(again, raw) {
			o.findings.unknown(Repacked, "", "it was not packed by labctl as it stands: names, times or gaps between the files are others")
		}
	}
}

// broken says where the archive can't be read on.
func (o *opening) broken(whole bool, header *tar.Header, err error) {
	var refused refusal
	switch {
	case errors.As(err, &refused):
		o.findings.fail(refused.what, refused.file, "%s", refused.reason)
	case !whole: // told already; this is where
		at := "its first file"
		if header != nil {
			at = header.Name
		} else if len(o.order) > 0 {
			at = "what follows " + o.order[len(o.order)-1]
		}
		last := &o.findings[len(o.findings)-1]
		if header != nil && pathNames.MatchString(header.Name) {
			last.File = header.Name
		}
		*last = Finding{last.Verdict, last.What, last.File, last.Reason + "; the first that can't be read is " + at}
	default:
		o.findings.fail(Damaged, "", "the archive in it can't be read on: %v", err)
	}
}

// refusal is a file that an archive may not hold.
type refusal struct {
	what         What
	file, reason string
}

func (r refusal) Error() string { return r.reason }

// file takes one file in.
func (o *opening) file(h *tar.Header, from io.Reader) error {
	size := int64(mostUnpacked)
	if !strings.HasPrefix(h.Name, "runs/") || strings.HasSuffix(h.Name, "/"+runFile) {
		size = mostText
	}
	switch {
	case h.Typeflag != tar.TypeReg:
		return refusal{Name, h.Name, "it is no file, but a link, a folder or a device; nothing of it was read"}
	case h.Name != manifestFile && !pathNames.MatchString(h.Name):
		return refusal{Name, h.Name, "no archive of evidence has a file of that name; nothing of it was read"}
	case h.Size > size:
		return refusal{Unreadable, h.Name, fmt.Sprintf("it is larger than %d MB", size>>20)}
	case len(o.order) >= mostFiles:
		return refusal{Unreadable, h.Name, fmt.Sprintf("there are more than %d files", mostFiles)}
	case o.manifest != nil && h.Name == manifestFile, o.bundle.Files[h.Name] != nil:
		return refusal{Extra, h.Name, "it stands twice in the archive"}
	}
	data := make([]byte, 0, min(h.Size, 1<<20))
	buffer := bytes.NewBuffer(data)
	if _, err := io.Copy(buffer, from); err != nil {
		return err
	}
	if h.Name == manifestFile {
		o.manifest = buffer.Bytes()
		return nil
	}
	o.order = append(o.order, h.Name)
	o.bundle.Files[h.Name] = slices.Clip(append([]byte{}, buffer.Bytes()...)) // never nil
	return nil
}

// readManifest reports whether the manifest is one of this format.
func (o *opening) readManifest() bool {
	var about struct {
		Schema, Kind string
		Format       int
	}
	if err := json.Unmarshal(o.manifest, &about); err != nil {
		o.findings.fail(Edited, manifestFile, "it can't be read: %v", err)
		return false
	}
	if about.Schema != report.Schema || about.Kind != KindBundle || about.Format != Format {
		o.findings.unknown(Version, manifestFile, "it is of schema %q, kind %q and format %d; this labctl reads %q, %q and %d, so nothing can be said of it",
			about.Schema, about.Kind, about.Format, report.Schema, KindBundle, Format)
		return false
	}
	if err := json.Unmarshal(o.manifest, &o.bundle.Manifest); err != nil {
		o.findings.fail(Edited, manifestFile, "it can't be read: %v", err)
		return false
	}
	return true
}

// compare holds the files against the manifest, and the manifest against its chain.
func (o *opening) compare(whole bool) {
	m := o.bundle.Manifest
	links, head := m.chain()
	sealed := m.Head == head && len(links) == len(m.Files) && bytes.Equal(encode(m), o.manifest)
	for i := range m.Files {
		sealed = sealed && m.Files[i].Chain == links[i]
	}
	if !sealed {
		o.findings.fail(Edited, manifestFile, "its hash chain does not fit what it says")
	}
	named := map[string]bool{}
	for _, f := range m.Files {
		data, there := o.bundle.Files[f.Path]
		switch {
		case named[f.Path]:
			o.findings.fail(Edited, manifestFile, "it names %s twice", f.Path)
		case !there && whole:
			o.findings.fail(Missing, f.Path, "the manifest names it, and it is not in the archive")
		case there && (len(data) != f.Bytes || sum(data) != f.SHA256):
			o.findings.fail(Edited, f.Path, "it is not what the manifest says: its SHA-256 is another")
		}
		named[f.Path] = true
	}
	for _, path := range slices.Sorted(maps.Keys(o.bundle.Files)) {
		if !named[path] {
			o.findings.fail(Extra, path, "the manifest does not name it")
		}
	}
	if m.Class != nil {
		if err := m.Class.Check(); err != nil {
			o.findings.fail(ClassWrong, manifestFile, "its class: %v", err)
		} else if err := CheckStudent(m.Student); err != nil {
			o.findings.fail(ClassWrong, manifestFile, "%v", err)
		}
	}
}
