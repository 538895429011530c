// Package evidence owns what a student hands in: one archive with recorded runs and answers, whether it is whole and agrees
// with itself, and what a class's archives show together. It reads archives as a stranger's: nothing of them is written to
// disk, and what they may hold is bounded. It touches no cluster and no network.
package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"

	"academy.example/lab/labctl/internal/report"
)

// Format is the version of the archive that is written and read.
const Format = 1

// KindBundle is the kind of an archive's manifest.json.
const KindBundle = "Evidence"

// Manifest is manifest.json, the first file of an archive: whose it is, what it was made with, and a hash of each other file.
type Manifest struct {
	Schema   string   `json:"schema"`
	Kind     string   `json:"kind"`
	Format   int      `json:"format"`
	Lab      string   `json:"lab"` // its name
	Versions Versions `json:"versions"`
	// Class and Student are who handed it in; null and absent if no class was joined.
	Class   *Class `json:"class"`
	Student string `json:"student,omitempty"`
	// Course has the SHA-256 of each exercise and checklist that was answered, so that answers to other questions are told apart.
	Course map[string]string `json:"course"`
	Files  []File            `json:"files"` // in the archive's order
	// Head is the end of the hash chain: it depends on every byte of the manifest and of every file.
	Head string `json:"head"`
}

// Versions are what the evidence was made with. What is not known is empty.
type Versions struct {
	Labctl     string `json:"labctl"`
	Kubernetes string `json:"kubernetes"`
	ClientGo   string `json:"clientGo"`
	Go         string `json:"go"`
	Platform   string `json:"platform"` // such as linux/amd64
}

// File is one file of an archive. Chain is the SHA-256 of the chain before it, its path and its own SHA-256.
type File struct {
	Path   string `json:"path"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
	Chain  string `json:"chain"`
}

// Bundle is an archive's content.
type Bundle struct {
	Manifest Manifest
	Files    map[string][]byte // by path, without the manifest
}

// The files of an archive beside runs/RUN/….
const (
	manifestFile = "manifest.json"
	progressFile = "progress.yaml"
	runFile      = "run.json"
	eventsFile   = "timeline.jsonl"
	trialsFile   = "trials.json"
)

// pathNames are the names that an archive may hold: nothing else is read, and nothing leads out of it.
var pathNames = regexp.MustCompile(`^(?:progress\.yaml|checklists/[a-z0-9][a-z0-9._-]{0,39}\.md|runs/[A-Za-z0-9][A-Za-z0-9._-]{0,79}/(?:run\.json|timeline\.jsonl|trials\.json))$`)

// The limits of an archive. A run of a thousand trials takes 50 MB.
const (
	mostPacked   = 32 << 20  // bytes of the file
	mostUnpacked = 128 << 20 // bytes of all that is in it
	mostFiles    = 2000
	mostEntries  = 2 * mostFiles // files, folders, and what is passed over
	mostTold     = 20            // of the entries that are passed over
	mostFindings = 100           // that are told of an archive
	mostText     = 1 << 20       // bytes of answers, checklists, manifest and run.json each
)

// Seal fills in the files' hashes, the chain and its head.
func (b *Bundle) Seal(order []string) {
	b.Manifest.Schema, b.Manifest.Kind, b.Manifest.Format = report.Schema, KindBundle, Format
	b.Manifest.Files = []File{}
	for _, path := range order {
		data := b.Files[path]
		b.Manifest.Files = append(b.Manifest.Files, File{Path: path, Bytes: len(data), SHA256: sum(data)})
	}
	links, head := b.Manifest.chain()
	for i := range links {
		b.Manifest.Files[i].Chain = links[i]
	}
	b.Manifest.Head = head
}

// chain computes the chain's links from what the manifest says: it begins with the manifest itself, without the chain.
func (m Manifest) chain() (links []string, head string) {
	files := m.Files
	m.Files, m.Head = nil, ""
	head = sum(encode(m))
	for _, f := range files {
		head = sum(fmt.Appendf(nil, "%s\n%s\n%d\n%s\n", head, f.Path, f.Bytes, f.SHA256))
		links = append(links, head)
	}
	return links, head
}

// encode is how a manifest is written.
func encode(m Manifest) []byte {
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		panic(err) // strings and numbers
	}
	return append(data, '\n')
}

func sum(data []byte) string {
	hash := sha256.Sum256(data)
	return hex.EncodeToString(hash[:])
}

// Digest is how a manifest's course names the text of an exercise or a checklist.
func Digest(data []byte) string { return sum(data) }
