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
	"regexp"
	"slices"
	"strings"

	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
)

// Open reads an archive and says what is wrong with it as an archive: whether each file is what the manifest says. What
// could be read is returned whatever is wrong.
func Open(in io.Reader) (Bundle, []Finding) {
	o := newOpening()
	o.untar(o.unzip(in))
	return o.bundle, o.findings
}

type opening struct {
	bundle   Bundle
	findings findings
	manifest []byte
	order    []string        // of the files as they stand in the archive
	refused  map[string]bool // names of which something is told, and that were not taken in
	passed   int             // entries that were passed over, which may have one name
	left     int64           // bytes that may still be taken in
	folder   string          // in which all files stand, with its slash; empty as labctl packs them
	packing  string          // what another program did to it, in words
	zipped   bool            // whether only the compression is another program's, as far as is known
	ended    bool            // whether it could not be read to its end
}

func newOpening() *opening {
	return &opening{bundle: Bundle{Files: map[string][]byte{}}, refused: map[string]bool{}, left: mostUnpacked}
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
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		o.findings.fail(Unreadable, "", "it is a zip archive; what is handed in is the .tar.gz that labctl evidence export wrote, as it stands")
		return nil, false
	case len(data) > 512 && string(data[257:262]) == "ustar":
		o.packing, o.zipped = "it was decompressed", true
		return data, true
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
		o.packing = fmt.Sprintf("not read: %s behind its end", report.Count(rest.Len(), "byte"))
	case !bytes.HasPrefix(data, packed):
		o.packing, o.zipped = "it was decompressed and compressed again", true
	}
	return raw, err == nil
}

// untar reads the files and holds them against the manifest.
func (o *opening) untar(raw []byte, whole bool) {
	o.folder = folder(raw)
	archive := tar.NewReader(bytes.NewReader(raw))
	for n := 0; !o.ended; n++ {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && (n >= mostEntries || len(o.order) >= mostFiles) {
			o.findings.fail(Unreadable, "", "there are more than %d files", mostFiles)
			o.ended = true
			break
		}
		if err == nil {
			err = o.file(header, archive)
		}
		if err != nil {
			o.passOver(whole, header, err)
		}
	}
	if n := o.passed - mostTold; n > 0 {
		o.findings.fail(Name, "", "%s like these", report.Count(n, "more entry"))
	}
	if o.manifest == nil {
		if whole && !o.ended && !o.refused[manifestFile] {
			o.findings.fail(Missing, manifestFile, "it has no manifest")
		}
		return
	}
	if !o.readManifest() {
		return
	}
	o.compare(whole && !o.ended)
	if whole && !o.ended {
		o.repacked(raw)
	}
}

// repacked tells that another program than labctl packed the archive, which is no fault of its files.
func (o *opening) repacked(raw []byte) {
	if again, err := o.bundle.tar(o.order, o.manifest); (o.packing == "" || o.zipped) && (err != nil || !bytes.Equal(again, raw)) {
		o.packing = "it was unpacked and packed again"
	}
	if o.packing == "" {
		return
	}
	files := ""
	if len(o.findings) == 0 {
		files = "; all files are as the manifest says"
	}
	o.findings.unknown(Repacked, "", "%s%s", o.packing, files)
}

// folder is the folder in which an archive's manifest stands, with its slash: whoever packs a folder again has all files in it.
func folder(raw []byte) string {
	archive, found := tar.NewReader(bytes.NewReader(raw)), ""
	for range mostEntries {
		header, err := archive.Next()
		if err != nil {
			break
		}
		name := trimmed(header.Name)
		if name == manifestFile {
			return ""
		}
		if dir, ok := strings.CutSuffix(name, "/"+manifestFile); ok && found == "" {
			found = dir + "/"
		}
	}
	return found
}

// trimmed is an entry's name without the "./" that tar writes when it is given a folder.
func trimmed(name string) string {
	for strings.HasPrefix(name, "./") {
		name = name[2:]
	}
	return name
}

// passOver tells of an entry that was not taken in, or where the archive can't be read on.
func (o *opening) passOver(whole bool, header *tar.Header, err error) {
	var refused refusal
	if errors.As(err, &refused) {
		o.refused[refused.file] = true
		if o.passed++; o.passed <= mostTold {
			o.findings.fail(refused.what, refused.file, "%s", refused.reason)
		}
		return
	}
	o.ended = true
	if errors.Is(err, errTooMuch) {
		o.findings.fail(Unreadable, "", "%v", err)
		return
	}
	if whole {
		o.findings.fail(Damaged, "", "the archive in it can't be read on: %v", err)
		return
	}
	told := &o.findings[0] // that it can't be read to its end; this is where
	at := "its first file"
	if header != nil {
		at = trimmed(header.Name)
	} else if len(o.order) > 0 {
		at = "what follows " + o.order[len(o.order)-1]
	}
	if pathNames.MatchString(at) {
		told.File = at
	}
	told.Reason = timeline.Visible(told.Reason + "; the first that can't be read is " + at)
}

// refusal is an entry that an archive may not hold. Nothing of it is read.
type refusal struct {
	what         What
	file, reason string
}

func (r refusal) Error() string { return r.reason }

// errTooMuch is of files that together are more than is taken in.
var errTooMuch = fmt.Errorf("its files hold more than %d MB", mostUnpacked>>20)

// sparse reports whether a header says of a few bytes that they are many.
func sparse(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return h.Typeflag == tar.TypeGNUSparse
}

// leftBehind are files that systems put beside those of a folder, and pack with them.
var leftBehind = regexp.MustCompile(`(?:^|/)(?:\._[^/]*|\.DS_Store|Thumbs\.db|desktop\.ini)$`)

// file takes one file in. Folders, and what systems put into them, are passed over.
func (o *opening) file(h *tar.Header, from io.Reader) error {
	name := strings.TrimPrefix(trimmed(h.Name), o.folder)
	size := int64(mostUnpacked)
	if !strings.HasPrefix(name, "runs/") || strings.HasSuffix(name, "/"+runFile) {
		size = mostText
	}
	switch {
	case h.Typeflag == tar.TypeDir, h.Typeflag == tar.TypeXGlobalHeader, leftBehind.MatchString(name):
		return nil
	case sparse(h):
		return refusal{Unreadable, name, "it is a file with holes, which no archive of evidence has; nothing of it was read"}
	case h.Typeflag != tar.TypeReg:
		return refusal{Name, name, "it is no file, but a link or a device; nothing of it was read"}
	case name != manifestFile && !pathNames.MatchString(name):
		return refusal{Name, name, "no archive of evidence has a file of that name; nothing of it was read"}
	case h.Size > size:
		return refusal{Unreadable, name, fmt.Sprintf("it is larger than %d MB", size>>20)}
	case o.manifest != nil && name == manifestFile, o.bundle.Files[name] != nil:
		return refusal{Extra, name, "it stands twice in the archive; the first one was read"}
	}
	buffer := bytes.NewBuffer(make([]byte, 0, min(h.Size, 1<<20)))
	n, err := io.Copy(buffer, io.LimitReader(from, o.left+1))
	if err != nil {
		return err
	}
	if o.left -= n; o.left < 0 {
		return errTooMuch
	}
	if name == manifestFile {
		o.manifest = buffer.Bytes()
		return nil
	}
	o.order = append(o.order, name)
	o.bundle.Files[name] = slices.Clip(append([]byte{}, buffer.Bytes()...)) // never nil
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
		case !there && whole && !o.refused[f.Path]:
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
