package evidence

import (
	"archive/tar"
	"bytes"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/check"
)

// writer is how some program packs a folder.
type writer struct {
	name    string
	prefix  string // before each name
	folders bool   // with an entry for each
	bare    bool   // without it before the manifest's
	beside  string // the name of a file beside each, and what the name of its own is after
	header  tar.Header
	plain   bool // not compressed
}

var writers = []writer{
	{name: "GNU tar of *", folders: true, header: tar.Header{Format: tar.FormatGNU, Uname: "student", Uid: 1000, ModTime: base}},
	{name: "GNU tar of .", prefix: "./", folders: true, header: tar.Header{Format: tar.FormatGNU, ModTime: base}},
	{name: "GNU tar of manifest.json ./*", prefix: "./", bare: true, folders: true, header: tar.Header{Format: tar.FormatGNU}},
	{name: "a folder that holds it", prefix: "evidence 07/", folders: true, header: tar.Header{Format: tar.FormatUSTAR}},
	{name: "PAX with fractions of seconds", folders: true, header: tar.Header{Format: tar.FormatPAX, ModTime: base.Add(time.Microsecond), PAXRecords: map[string]string{"SCHILY.xattr.user.x": "1"}}},
	{name: "macOS", prefix: "./", folders: true, beside: "._", header: tar.Header{Format: tar.FormatPAX, ModTime: base}},
	{name: "no compression", header: tar.Header{Format: tar.FormatUSTAR}, plain: true},
}

// pack packs the files of an archive as the writer does.
func (w writer) pack(t *testing.T, b *Bundle) []byte {
	t.Helper()
	var raw bytes.Buffer
	out := tar.NewWriter(&raw)
	add := func(name string, kind byte, data []byte) {
		h := w.header
		h.Name, h.Typeflag, h.Size, h.Mode = w.prefix+name, kind, int64(len(data)), 0o640
		if w.bare && name == manifestFile {
			h.Name = name
		}
		if err := out.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		out.Write(data)
	}
	if w.prefix != "" {
		add("", tar.TypeDir, nil)
	}
	done := map[string]bool{}
	order := append(sortedFiles(*b), manifestFile) // which an alphabet may put last
	for _, file := range order {
		data := b.Files[file]
		if file == manifestFile {
			data = encode(b.Manifest)
		}
		dir, base := path.Split(file)
		if w.folders && dir != "" && !done[dir] {
			add(dir, tar.TypeDir, nil)
			done[dir] = true
		}
		if w.beside != "" {
			add(dir+w.beside+base, tar.TypeReg, []byte("xattr"))
		}
		add(file, tar.TypeReg, data)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if w.plain {
		return raw.Bytes()
	}
	return zipped(t, raw.Bytes())
}

// TestOpen_PackedAgain has archives that other programs packed: the files are read all the same, and one that was edited is named.
func TestOpen_PackedAgain(t *testing.T) {
	b := small(t)
	packedOf(t, b)
	whole := b.Files[inForced(eventsFile)]
	for _, w := range writers {
		got, found := Open(bytes.NewReader(w.pack(t, b)))
		if len(found) != 1 || found[0].What != Repacked || found[0].Verdict != check.Unknown || !strings.HasSuffix(found[0].Reason, "; all files are as the manifest says") {
			t.Errorf("%s: %v", w.name, found)
		}
		if len(got.Files) != len(b.Files) {
			t.Errorf("%s: %d files of %d", w.name, len(got.Files), len(b.Files))
		}
		b.Files[inForced(eventsFile)] = append(slices.Clone(whole), '\n')
		_, found = Open(bytes.NewReader(w.pack(t, b)))
		if len(found) != 2 || found[0].What != Edited || found[0].File != inForced(eventsFile) || found[1].What != Repacked || strings.Contains(found[1].Reason, "manifest says") {
			t.Errorf("%s, edited: %v", w.name, found)
		}
		b.Files[inForced(eventsFile)] = whole
	}
}

// TestOpen_PassesOverWhatIsNoFile has a link in place of one file: it is told, once, and the others are read and held against the manifest.
func TestOpen_PassesOverWhatIsNoFile(t *testing.T) {
	b := small(t)
	packedOf(t, b)
	b.Files[inForced(eventsFile)] = append(b.Files[inForced(eventsFile)], '\n')
	var raw bytes.Buffer
	out := tar.NewWriter(&raw)
	add := func(h tar.Header, data []byte) {
		h.Size, h.Mode = int64(len(data)), 0o600
		if err := out.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		out.Write(data)
	}
	add(tar.Header{Name: "../evil", Typeflag: tar.TypeReg}, []byte("x"))
	for n := range 3 * mostTold {
		add(tar.Header{Name: strings.Repeat("x", n+1), Typeflag: tar.TypeReg}, nil)
	}
	add(tar.Header{Name: inForced(trialsFile), Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, nil)
	add(tar.Header{Name: manifestFile, Typeflag: tar.TypeReg}, encode(b.Manifest))
	for _, file := range sortedFiles(*b) {
		if file != inForced(trialsFile) {
			add(tar.Header{Name: file, Typeflag: tar.TypeReg}, b.Files[file])
		}
	}
	out.Close()
	_, found := Open(bytes.NewReader(zipped(t, raw.Bytes())))
	words := map[What][]string{}
	for _, f := range found {
		words[f.What] = append(words[f.What], f.File)
	}
	if len(words[Name]) != mostTold+1 || len(words[Missing]) != 0 || !slices.Equal(words[Edited], []string{inForced(eventsFile)}) || len(words[Repacked]) != 1 {
		t.Errorf("%v", found)
	}
}
