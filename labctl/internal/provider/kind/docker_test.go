package kind

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/home"
)

// shelf is a docker that keeps its containers as files in the folder it lives in: one line for each, its mount.
const shelf = `cd "$(dirname "$0")" && mkdir -p c
case "$1" in
ps) ls c; [ -f late ] && [ -z "$(ls c)" ] && { mv late c/late; } ;;
inspect) shift 4; for id; do printf '%s\t/%s\trunning\t%s\n' "$id" "$id" "$(cat c/$id)"; done ;;
rm) shift 3; for id; do rm c/$id; echo $id >>removed; done ;;
esac
exit 0`

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func silent(string) {}

func TestSweep_AContainerThatComesAfterItsRemovalIsRemovedToo(t *testing.T) {
	dir := fakeDocker(t, shelf)
	put(t, dir+"/c/first", "")
	put(t, dir+"/late", "") // made by a `docker run` that was under way
	if err := sweep(t.Context(), "labctl-lab", silent); err != nil {
		t.Fatal(err)
	}
	if removed, err := os.ReadFile(dir + "/removed"); err != nil || string(removed) != "first\nlate\n" {
		t.Errorf("removed %q, %v", removed, err)
	}
}

func TestSweep_NeverWithoutAName(t *testing.T) {
	dir := fakeDocker(t, shelf)
	put(t, dir+"/c/theirs", "")
	for _, name := range []string{"", "labctl-"} {
		if err := sweep(t.Context(), name, silent); err == nil {
			t.Errorf("the name %q was taken", name)
		}
	}
	if !home.Absent(dir + "/removed") {
		t.Error("somebody else's container was removed")
	}
}

func TestDown_AnotherFoldersLabOfThatNameStays(t *testing.T) {
	dir := fakeDocker(t, shelf)
	at, err := home.New("lab")
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir+"/c/theirs", "/home/other/.local/state/labctl/lab/node")
	if found, err := (&Provider{}).Down(t.Context(), "lab", silent); found || err != nil {
		t.Errorf("without a folder: got %t, %v", found, err)
	}
	if err := at.Claim(name); err != nil {
		t.Fatal(err)
	}
	var problem *provider.Problem
	if _, err := (&Provider{}).Down(t.Context(), "lab", silent); !errors.As(err, &problem) || !strings.Contains(err.Error(), "was not made for this lab") {
		t.Errorf("with a folder: got %v", err)
	}
	if home.Absent(dir + "/c/theirs") {
		t.Error("it was removed")
	}
}

func TestDown_RemovesAHalfMadeLabAndOneWhoseFolderIsGone(t *testing.T) {
	for _, claimed := range []bool{true, false} {
		dir := fakeDocker(t, shelf)
		at, err := home.New("lab")
		if err != nil {
			t.Fatal(err)
		}
		if claimed {
			if err := at.Claim(name); err != nil {
				t.Fatal(err)
			}
		}
		put(t, dir+"/c/worker", mounted(at.State))
		if found, err := (&Provider{}).Down(t.Context(), "lab", silent); !found || err != nil {
			t.Errorf("claimed %t: got %t, %v", claimed, found, err)
		}
		if !home.Absent(dir+"/c/worker") || !home.Absent(at.State) {
			t.Errorf("claimed %t: something is left", claimed)
		}
	}
}
