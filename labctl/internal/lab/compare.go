package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"

	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/labctl/internal/whole"
)

// Contradictions compares trials.json, if the run's folder has one, with the trials that the events give, and returns a
// sentence for each figure that differs.
func (r Record) Contradictions(trials []timeline.Trial) ([]string, error) {
	data, err := whole.Read(filepath.Join(r.Path, trialsFile), whole.Record)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return Differences(data, trials)
}

const trialsFile = "trials.json"

// Differences compares the text of a trials.json with the trials that the events give.
func Differences(data []byte, trials []timeline.Trial) ([]string, error) {
	const name = trialsFile
	var said, seen struct {
		Trials []map[string]any `json:"trials"`
	}
	if err := json.Unmarshal(data, &said); err != nil {
		return []string{fmt.Sprintf("%s can't be read (line %d: %v)", name, lineOf(data, err), err)}, nil
	}
	again, err := json.Marshal(map[string]any{"trials": trials})
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(again, &seen); err != nil {
		return nil, err
	}
	if len(said.Trials) != len(seen.Trials) {
		return []string{fmt.Sprintf("%s says that %d trials were done, the events say %d", name, len(said.Trials), len(seen.Trials))}, nil
	}
	var out []string
	for i := range seen.Trials {
		for _, key := range keys(said.Trials[i], seen.Trials[i]) {
			if _, told := said.Trials[i][key]; !told && slices.Contains(added, key) {
				continue // an older labctl wrote it
			}
			if a, b := said.Trials[i][key], seen.Trials[i][key]; !reflect.DeepEqual(a, b) {
				out = append(out, fmt.Sprintf("trial %d: %s says %s %s, the events say %s", i+1, name, key, text(a), text(b)))
			}
		}
	}
	return out, nil
}

// added are the figures that lab/v1 has gained since its first records.
var added = []string{"leaseDurationSeconds", "renewEverySeconds", "handOvers", "workedOnSeconds"}

// keys are the names of both objects, sorted.
func keys(a, b map[string]any) []string {
	all := map[string]any{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

func text(v any) string {
	data, _ := json.Marshal(v) // it came from JSON
	return string(data)
}
