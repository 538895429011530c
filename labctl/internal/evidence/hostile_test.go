package evidence

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/report"
)

// TestVerify_EachEditedByteIsTold flips one bit in each of many bytes of an archive: either it is told, or what the archive
// holds is the same all the same.
func TestVerify_EachEditedByteIsTold(t *testing.T) {
	data := packedOf(t, small(t))
	whole, found := Open(bytes.NewReader(data))
	if len(found) > 0 {
		t.Fatal(found)
	}
	random := rand.New(rand.NewPCG(1, 1))
	silent := 0
	for at := 0; at < len(data); at += 1 + random.IntN(20) {
		edited := slices.Clone(data)
		edited[at] ^= 1 << random.IntN(8)
		got, found := Open(bytes.NewReader(edited))
		if len(found) > 0 {
			continue
		}
		silent++
		for path, want := range whole.Files {
			if !bytes.Equal(got.Files[path], want) {
				t.Fatalf("byte %d: %s was changed, and nothing is told", at, path)
			}
		}
	}
	t.Logf("%d of some %d edits changed nothing that is read", silent, len(data)/10)
}

// TestVerify_EachEditedByteOfAFileIsNamed edits the files themselves and packs them with the old manifest.
func TestVerify_EachEditedByteOfAFileIsNamed(t *testing.T) {
	b := small(t)
	packedOf(t, b)
	manifest, order := encode(b.Manifest), sortedFiles(*b)
	random := rand.New(rand.NewPCG(2, 2))
	edit := func(name string, data []byte) (edited []byte, reset func()) {
		edited = slices.Clone(data)
		edited[random.IntN(len(edited))] ^= 1 << random.IntN(8)
		return edited, func() { b.Files[name] = data }
	}
	for range 20 {
		for _, name := range append([]string{manifestFile}, order...) {
			told, reset := manifest, func() {}
			if name == manifestFile {
				told, _ = edit(name, manifest)
			} else {
				b.Files[name], reset = edit(name, b.Files[name])
			}
			raw, err := b.tar(order, told)
			if err != nil {
				t.Fatal(err)
			}
			if _, found := Open(bytes.NewReader(zipped(t, raw))); len(found) == 0 || found[0].File != name {
				t.Fatalf("an edit of %s gives %v", name, found)
			}
			reset()
		}
	}
}

// small is an archive with one run.
func small(t testing.TB) *Bundle {
	t.Helper()
	b := student(t, 1)
	for name := range b.Files {
		if strings.HasPrefix(name, "runs/") && !strings.HasPrefix(name, "runs/"+forced) {
			delete(b.Files, name)
		}
	}
	return b
}

// TestVerify_AHundredTrials is the promise of a second.
func TestVerify_AHundredTrials(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures the processor's time")
	}
	b := student(t, 1)
	for n := range 2 {
		for name, data := range student(t, 2+n).Files {
			if rest, ok := strings.CutPrefix(name, "runs/"); ok {
				b.Files[fmt.Sprintf("runs/%d-%s", n, rest)] = data
			}
		}
	}
	data, known := packedOf(t, b), course(t)
	var r Result
	took := took(func() { r = Verify("many.tar.gz", bytes.NewReader(data), known) })
	trials := 0
	for _, run := range r.Runs {
		trials += run.Trials
	}
	t.Logf("%d trials, %d KB: %s", trials, len(data)>>10, took.Round(time.Millisecond))
	if hundred := took * 100 / time.Duration(max(1, trials)); trials < 100 || hundred > time.Second {
		t.Errorf("%d trials took %s, want 100 in at most a second", trials, took)
	}
}

// crafted packs files whose headers are free.
func crafted(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var raw bytes.Buffer
	w := tar.NewWriter(&raw)
	for _, h := range headers {
		h.Mode = 0o600
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		io.CopyN(w, zeros{}, h.Size)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return zipped(t, raw.Bytes())
}

// TestOpen_FilesWithHoles has in a thousand bytes what is said to be 60 files of 128 MB: nothing of them is read.
func TestOpen_FilesWithHoles(t *testing.T) {
	b, found := Open(bytes.NewReader(holes(t, 60)))
	if len(b.Files) > 0 || len(found) != mostTold+2 || found[0].What != Unreadable || found[0].File != RunPath("r0", eventsFile) {
		t.Errorf("%d files were read; %v", len(b.Files), found)
	}
}

// holes packs files that are said to have 128 MB each, in a few bytes, as GNU tar packs what has holes.
func holes(t *testing.T, n int) []byte {
	t.Helper()
	var raw bytes.Buffer
	for i := range n {
		records := map[string]string{"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": fmt.Sprintf("runs/r%d/%s", i, eventsFile), "GNU.sparse.realsize": fmt.Sprint(mostUnpacked)}
		var about bytes.Buffer
		for key, value := range records {
			line := fmt.Sprintf(" %s=%s\n", key, value)
			size := len(line) + len(fmt.Sprint(len(line)+2))
			fmt.Fprintf(&about, "%d%s", size, line)
		}
		one := tar.NewWriter(&raw) // whose end is left out: the next one goes on
		for _, part := range []struct {
			kind byte
			name string
			data []byte
		}{{tar.TypeReg, "PaxHeaders/x", about.Bytes()}, {tar.TypeReg, "GNUSparseFile.0/x", fmt.Appendf(nil, "1\n%d\n0\n%s", mostUnpacked, strings.Repeat("\x00", 500))[:512]}} {
			at := raw.Len()
			if err := one.WriteHeader(&tar.Header{Typeflag: part.kind, Name: part.name, Size: int64(len(part.data)), Mode: 0o600, Format: tar.FormatUSTAR}); err != nil {
				t.Fatal(err)
			}
			one.Write(part.data)
			one.Flush()
			if part.name == "PaxHeaders/x" {
				extended(raw.Bytes()[at : at+512])
			}
		}
	}
	raw.Write(make([]byte, 1024))
	return zipped(t, raw.Bytes())
}

// extended makes a file's header that of records about the next file, which tar's writer makes of none that have holes.
func extended(header []byte) {
	header[156] = tar.TypeXHeader
	copy(header[148:156], "        ")
	total := 0
	for _, b := range header {
		total += int(b)
	}
	copy(header[148:156], fmt.Sprintf("%06o\x00 ", total))
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestOpen_HostileArchives(t *testing.T) {
	bomb := func(size int64) []byte {
		var out bytes.Buffer
		w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
		io.CopyN(w, zeros{}, size)
		w.Close()
		return out.Bytes()
	}
	var many []tar.Header
	for n := range mostFiles + 2 {
		many = append(many, tar.Header{Name: fmt.Sprintf("runs/r%d/run.json", n), Size: 1})
	}
	known := course(t)
	for name, c := range map[string]struct {
		data []byte
		what What
	}{
		"a bomb":                  {bomb(mostUnpacked + 1), Unreadable},
		"a path upwards":          {crafted(t, tar.Header{Name: "../../etc/passwd", Size: 1}), Name},
		"a path upwards in a run": {crafted(t, tar.Header{Name: "runs/../run.json", Size: 1}), Name},
		"an absolute path":        {crafted(t, tar.Header{Name: "/etc/passwd", Size: 1}), Name},
		"a link":                  {crafted(t, tar.Header{Name: "progress.yaml", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}), Name},
		"a device":                {crafted(t, tar.Header{Name: "progress.yaml", Typeflag: tar.TypeChar}), Name},
		"control characters":      {crafted(t, tar.Header{Name: "runs/\x1b[2J/run.json", Size: 1}), Name},
		"large answers":           {crafted(t, tar.Header{Name: "progress.yaml", Size: mostText + 1}), Unreadable},
		"too many files":          {crafted(t, many...), Unreadable},
		"a file twice":            {crafted(t, tar.Header{Name: "progress.yaml", Size: 1}, tar.Header{Name: "progress.yaml", Size: 1}), Extra},
		"no manifest":             {crafted(t, tar.Header{Name: "progress.yaml", Size: 1}), Missing},
		"nothing":                 {nil, Truncated},
	} {
		var r Result
		if took := took(func() { r = Verify(name+"\x1b[31m", bytes.NewReader(c.data), known) }); took > 3*time.Second {
			t.Errorf("%s: it took %s", name, took)
		}
		if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.What == c.what && f.Verdict == check.Fail }) {
			t.Errorf("%s: %v, want %s", name, r.Findings, c.what)
		}
		printable(t, r)
	}
}

// printable looks for characters that a terminal would act on.
func printable(t *testing.T, r Result) {
	t.Helper()
	texts := []string{r.Archive, r.Student, r.Class, r.Head, r.Versions.Labctl, r.Versions.Go}
	for _, f := range r.Findings {
		texts = append(texts, f.File, f.Reason)
	}
	for _, e := range r.Exercises {
		for _, i := range e.Items {
			texts = append(texts, i.Reason, i.Evidence)
		}
	}
	for _, l := range r.Checklists {
		for _, i := range l.Items {
			texts = append(texts, i.Value, i.Reason)
		}
	}
	for _, text := range texts {
		if strings.ContainsFunc(text, unicode.IsControl) {
			t.Errorf("a control character in %q", text)
		}
	}
}

// TestVerify_AHostileTimeline_EndsSoon has a run with as many events as are read, in the worst order for whoever measures it.
func TestVerify_AHostileTimeline_EndsSoon(t *testing.T) {
	b := small(t)
	var out bytes.Buffer
	begin, _, _ := bytes.Cut(b.Files[RunPath(forced, eventsFile)], []byte("\n"))
	out.Write(append(begin, '\n'))
	for i := range mostEvents - 2 {
		fmt.Fprintf(&out, `{"t":1,"kind":"trial-ended","trial":%d,"lane":%d}`+"\n", i%mostTrials+1, i%mostLanes+1)
	}
	b.Files[RunPath(forced, eventsFile)] = out.Bytes()
	data, known := packedOf(t, b), course(t)
	var r Result
	if took := took(func() { r = Verify("slow.tar.gz", bytes.NewReader(data), known) }); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	if r.Verdict != check.Fail {
		t.Errorf("verdict %s: %v", r.Verdict, r.Findings)
	}
}

// FuzzOpen reads what is in an archive once it is unpacked, whatever it is.
func FuzzOpen(f *testing.F) {
	b := small(f)
	shorten(b)
	packedOf(f, b)
	raw, err := b.tar(sortedFiles(*b), encode(b.Manifest))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		o := newOpening()
		o.untar(raw, true)
		for _, one := range o.findings {
			if strings.ContainsFunc(one.File+one.Reason, unicode.IsControl) {
				t.Errorf("a control character in %v", one)
			}
		}
		for path := range o.bundle.Files {
			if !pathNames.MatchString(path) {
				t.Errorf("the file %q was taken", path)
			}
		}
	})
}

// FuzzVerify measures and judges an archive whose hashes are right, with one file that is anything.
func FuzzVerify(f *testing.F) {
	b := small(f)
	shorten(b)
	for name, file := range b.Files {
		f.Add(file, name)
	}
	known, own := course(f), class(f)
	f.Fuzz(func(t *testing.T, file []byte, name string) {
		b := &Bundle{Manifest: b.Manifest, Files: maps.Clone(b.Files)}
		if b.Add(name, file) != nil {
			return
		}
		v := verifying{bundle: *b, course: known, seen: map[string]string{}}
		r := Result{Archive: "fuzz", Student: "s01", member: &Membership{Student: "s01", Class: own}}
		v.all(&r)
		r.Findings = v.findings
		printable(t, r)
		results := []Result{r, r}
		results[1].member = nil
		Compare(results, &own)
		s := Summarize(results, &own, known)
		if err := s.Text(io.Discard); err != nil {
			t.Error(err)
		}
		if err := report.ClassHTML(io.Discard, s.Page()); err != nil {
			t.Error(err)
		}
	})
}

// shorten leaves of a run what came shortly before its fault and after it.
func shorten(b *Bundle) {
	var out []byte
	n := 0
	for line := range bytes.Lines(b.Files[RunPath(forced, eventsFile)]) {
		if n++; n%3 == 1 || bytes.Contains(line, []byte("fault")) || bytes.Contains(line, []byte("lease\"")) || bytes.Contains(line, []byte("ended")) {
			out = append(out, line...)
		}
	}
	b.Files[RunPath(forced, eventsFile)] = out
}
