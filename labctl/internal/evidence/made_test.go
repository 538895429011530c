package evidence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"academy.example/lab/checklists"
	"academy.example/lab/exercises"
	"academy.example/lab/labctl/internal/checklist"
	"academy.example/lab/labctl/internal/checklist/plain"
	"academy.example/lab/labctl/internal/checklist/source"
	"academy.example/lab/labctl/internal/exercise"
	"academy.example/lab/labctl/internal/exercise/recorded"
	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/report"
)

// The course as the programs carry it.
func course(t testing.TB) Course {
	t.Helper()
	c := Course{Digests: map[string]string{}, Version: "dev"}
	var err error
	if c.Exercises, err = exercise.Load(exercises.FS); err != nil {
		t.Fatal(err)
	}
	if c.Lists, err = checklist.Load(checklists.FS); err != nil {
		t.Fatal(err)
	}
	for _, e := range c.Exercises {
		c.Digests[e.Name] = "of " + e.Name
	}
	return c
}

// class is the made-up students' class.
func class(t testing.TB) Class {
	t.Helper()
	c, err := NewClass("autumn", time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	c.Nonce = "MADEUPSTUDENTSOFONECLASS22"
	return c
}

const proofs = "../../../exercises"

// solved reads the recorded solutions of every exercise: the files of their runs, and the progress.
var solved = sync.OnceValues(func() (map[string][]byte, error) {
	all, err := exercise.Load(exercises.FS)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	p := exercise.Progress{Format: exercise.Format, Exercises: map[string]*exercise.Entry{}}
	for _, e := range all {
		data, err := os.ReadFile(filepath.Join(proofs, e.Name, exercise.ProofEntry))
		if os.IsNotExist(err) {
			continue // one that is being written
		}
		if err != nil {
			return nil, err
		}
		entry, err := exercise.ReadEntry(data)
		if err != nil {
			return nil, err
		}
		p.Exercises[e.Name] = &entry
		err = fs.WalkDir(os.DirFS(filepath.Join(proofs, e.Name)), exercise.ProofRuns, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path.Ext(name) == ".md" {
				return nil // an exercise may have no runs
			}
			data, err := os.ReadFile(filepath.Join(proofs, e.Name, name))
			files["runs/"+strings.TrimPrefix(name, exercise.ProofRuns+"/")] = data
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	files[progressFile], err = yaml.Marshal(p)
	return files, err
})

// student makes the archive of a made-up student: the recorded solutions with other times, pods and phases, as if each had been
// measured on a machine of their own.
func student(t testing.TB, n int) *Bundle {
	t.Helper()
	files, err := solved()
	if err != nil {
		t.Fatal(err)
	}
	m := Membership{Student: fmt.Sprintf("s%02d", n), Class: class(t)}
	own := pretend{n: n, member: m}
	b := &Bundle{Manifest: Manifest{Lab: "lab", Class: &m.Class, Student: m.Student, Course: course(t).Digests,
		Versions: Versions{Labctl: "dev", Kubernetes: "v1.37.2", ClientGo: source.Version, Go: "go1.26", Platform: "linux/amd64"}}}
	for name, data := range files {
		if path.Base(name) == trialsFile {
			continue
		}
		if strings.HasPrefix(name, "runs/") {
			data = own.run(t, data, path.Base(name), files[path.Dir(name)+"/"+runFile])
		} else {
			data = own.text(data)
		}
		if err := b.Add(name, data); err != nil {
			t.Fatal(err)
		}
	}
	for name := range b.Files {
		if path.Base(name) == runFile {
			b.Files[path.Dir(name)+"/"+trialsFile] = retold(t, b, path.Base(path.Dir(name)))
		}
	}
	return b
}

// retold is the trials.json that the events of a run give.
func retold(t testing.TB, b *Bundle, name string) []byte {
	t.Helper()
	record := readRun(t, b, name)
	f := record.Report()
	f.Run = name
	var out bytes.Buffer
	if err := report.JSON(&out, f); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func readRun(t testing.TB, b *Bundle, name string) lab.Record {
	t.Helper()
	info, err := lab.ParseInfo(name, b.Files[RunPath(name, runFile)])
	if err != nil {
		t.Fatal(err)
	}
	record := lab.Record{Path: name, Info: info}
	if record.Events, err = events(b.Files[RunPath(name, eventsFile)]); err != nil {
		t.Fatal(err)
	}
	return record
}

// pretend changes what is a machine's own.
type pretend struct {
	n      int
	member Membership
}

var (
	base  = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	times = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`)
	pods  = regexp.MustCompile(`academy-operator-[a-z0-9]+-[a-z0-9]{5}`)
	uids  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
)

// stretch is by how much a student's clock is made to run otherwise: not enough to change a figure that is shown.
func (p pretend) stretch() float64 { return float64(p.n+1) * 1e-8 }

func (p pretend) text(data []byte) []byte {
	data = times.ReplaceAllFunc(data, func(found []byte) []byte {
		at, err := time.Parse(time.RFC3339Nano, string(found))
		if err != nil {
			return found
		}
		since := at.Sub(base)
		moved := base.Add(time.Duration(p.n)*time.Minute + since + time.Duration(float64(since)*p.stretch()))
		return []byte(moved.UTC().Format(time.RFC3339Nano))
	})
	data = pods.ReplaceAllFunc(data, func(found []byte) []byte { return p.named(found, len(found)-5) })
	return uids.ReplaceAllFunc(data, func(found []byte) []byte { return p.named(found, 0) })
}

// named is a name of the same length from some place on.
func (p pretend) named(found []byte, from int) []byte {
	out := append(append([]byte{}, found[:from]...), sum(fmt.Appendf(nil, "%d %s", p.n, found))[:len(found)-from]...)
	for i := from; i < len(out); i++ {
		if found[i] == '-' {
			out[i] = '-'
		}
	}
	return out
}

// run changes a run's file: the times, and the phases to those of the student's seed.
func (p pretend) run(t testing.TB, data []byte, file string, about []byte) []byte {
	t.Helper()
	info, err := lab.ParseInfo(runFile, about)
	if err != nil {
		t.Fatal(err)
	}
	seed := p.seed(info)
	data = p.text(data)
	if file == runFile {
		return regexp.MustCompile(`"seed": \d+`).ReplaceAll(data, fmt.Appendf(nil, `"seed": %d`, seed))
	}
	var out bytes.Buffer
	drawn := map[int]int{}
	for line := range bytes.Lines(data) {
		var e map[string]json.RawMessage
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		var at float64
		json.Unmarshal(e["t"], &at)
		e["t"], _ = json.Marshal(at * (1 + p.stretch()))
		if e["fault"] != nil {
			var lane int
			json.Unmarshal(e["lane"], &lane)
			phases := lab.Phases(seed, lane, info.Timing, 100)
			phase, _ := json.Marshal(phases[drawn[lane]].Seconds())
			drawn[lane]++
			e["fault"] = regexp.MustCompile(`"phaseSeconds":[0-9.e-]+`).ReplaceAll(e["fault"], append([]byte(`"phaseSeconds":`), phase...))
		}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(text, '\n'))
	}
	return out.Bytes()
}

// seed is one of the student's, of those that put the run's modes into the order that they were recorded in.
func (p pretend) seed(info lab.RunInfo) uint64 {
	var modes []fault.Mode
	for _, m := range info.Modes {
		modes = append(modes, fault.Mode(m))
	}
	for salt := uint32(info.StartedAt.Unix() % math.MaxUint16); ; salt++ {
		if seed := p.member.Seed(salt); fmt.Sprint(Order(modes, seed)) == fmt.Sprint(modes) {
			return seed
		}
	}
}

// filled is the checklist as the runs fill it in.
func filled(t testing.TB, b *Bundle) []byte {
	t.Helper()
	l := course(t).Lists[0]
	text, err := plain.Decode([]byte(l.Template))
	if err != nil {
		t.Fatal(err)
	}
	var runs []recorded.Run
	for name := range b.Files {
		if path.Base(name) == runFile {
			r := readRun(t, b, path.Base(path.Dir(name)))
			runs = append(runs, recorded.Run{Name: r.Path, StartedAt: r.Info.StartedAt, Failover: r.Report()})
		}
	}
	l.Fill(&text, checklist.Known{Runs: runs, ClientGo: source.Version})
	return text.Encode()
}

// took is the processor's time that something takes, so that a busy machine does not fail a test of how much work it is.
func took(do func()) time.Duration {
	spent := func() time.Duration {
		var u syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &u) // which fails for another RUSAGE alone
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := spent()
	do()
	return spent() - before
}

// packedOf is an archive's bytes.
func packedOf(t testing.TB, b *Bundle) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := b.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
