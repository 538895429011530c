package exercise_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/exercise"
)

// Several commands that note something at once lose nothing. Each opens the lock file for itself, as processes do.
func TestChangeProgress_AtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "progress", "lab.yaml")
	const writers, rounds = 5, 8
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for r := range rounds {
				err := exercise.ChangeProgress(file, func(p *exercise.Progress) error {
					p.Exercises[fmt.Sprintf("%d-%d", w, r)] = &exercise.Entry{Started: time.Unix(0, 0)}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	p, err := exercise.ReadProgress(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(p.Exercises); n != writers*rounds {
		t.Errorf("%d of %d changes are there", n, writers*rounds)
	}
}

// A change that fails writes nothing, and lets the next one have the file.
func TestChangeProgress_Fails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lab.yaml")
	wrong := errors.New("wrong")
	err := exercise.ChangeProgress(file, func(p *exercise.Progress) error {
		p.Current = "03"
		return wrong
	})
	if err != wrong {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("something was written: %v", err)
	}
	if err := exercise.ChangeProgress(file, func(*exercise.Progress) error { return nil }); err != nil {
		t.Error(err)
	}
}
