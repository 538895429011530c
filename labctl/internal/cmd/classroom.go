package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/existing"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/whole"
)

// mostStudents keeps a typing error from filling a cluster, and the limits of a token are the API server's least and a month.
const (
	mostStudents  = 200
	leastValidity = 10 * time.Minute
	mostValidity  = 31 * 24 * time.Hour
)

type classroomFlags struct {
	dir    string
	valid  time.Duration
	remove bool
	yes    bool
}

func (a *app) classKubeconfigsCommand() *cobra.Command {
	var f classroomFlags
	c := &cobra.Command{
		Use:   "kubeconfigs N",
		Short: "Prepare namespaces for N students in the lab's cluster, with a kubeconfig for each; --remove takes them away",
		Long: "kubeconfigs makes the namespaces student-01 … in the cluster of the running lab, and in each the Role of docs/student-role.yaml\n" +
			"and a ServiceAccount with a token that expires. A student's kubeconfig may do in its namespace what a lab needs, and nothing\n" +
			"elsewhere. Typed again it renews the tokens. It needs an administrator's rights in the cluster.\n\n" +
			"--remove deletes these namespaces with all that is in them, and the kubeconfigs in --dir; the tokens end with them.",
		Example: "  labctl class kubeconfigs 30 --dir class --valid 12h\n  labctl class kubeconfigs --remove --dir class",
		Args:    func(c *cobra.Command, args []string) error { return f.args(c, args) },
		RunE: func(c *cobra.Command, args []string) error {
			if f.remove {
				return a.classWithdraw(c, f)
			}
			n, _ := strconv.Atoi(args[0])
			return a.classPrepare(c, f, n)
		},
	}
	c.Flags().StringVar(&f.dir, "dir", "class", "folder for the kubeconfigs, student-01.kubeconfig and so on")
	c.Flags().DurationVar(&f.valid, "valid", 24*time.Hour, "how long the tokens are asked to be valid; the API server may shorten it")
	c.Flags().BoolVar(&f.remove, "remove", false, "remove the namespaces and the kubeconfigs again")
	c.Flags().BoolVar(&f.yes, "yes", false, "do not ask before a cluster that is not on this machine is changed")
	return c
}

func (f classroomFlags) args(c *cobra.Command, args []string) error {
	usage := func(format string, values ...any) error {
		return usageError{command: c.CommandPath(), err: fmt.Errorf(format, values...)}
	}
	if f.dir == "" {
		return usage("--dir has no folder's name")
	}
	if f.remove {
		if len(args) > 0 {
			return usage("--remove removes all of them; it takes no number")
		}
		return nil
	}
	if len(args) != 1 {
		return usage("%s takes the number of students", c.CommandPath())
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 1 || n > mostStudents {
		return usage("%q is not a number of students between 1 and %d", args[0], mostStudents)
	}
	if f.valid < leastValidity || f.valid > mostValidity {
		return usage("--valid %s is not between %s and %s", f.valid, leastValidity, mostValidity)
	}
	return nil
}

// classGrant is a student in `class kubeconfigs --json`.
type classGrant struct {
	Namespace  string    `json:"namespace"`
	Kubeconfig string    `json:"kubeconfig"` // the file
	ExpiresAt  time.Time `json:"expiresAt"`
}

// classGrants is what `class kubeconfigs --json` prints.
type classGrants struct {
	Schema   string       `json:"schema"`
	Kind     string       `json:"kind"`
	Students []classGrant `json:"students"`
	// Up is the command with which a student makes a lab, with NN for the number.
	Up string `json:"up"`
}

func (a *app) classPrepare(c *cobra.Command, f classroomFlags, n int) error {
	if err := ownFolder(f.dir); err != nil {
		return err
	}
	show := newProgress(a.streams.Err)
	defer show.Stop()
	l, room, err := a.room(c, f, fmt.Sprintf("make %s, with credentials", report.Count(n, "namespace")), show)
	if err != nil {
		show.Stop()
		return err
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	result := classGrants{Schema: report.Schema, Kind: "ClassKubeconfigs", Up: up(f, l)}
	for i := range n {
		name := fmt.Sprintf("student-%02d", i+1)
		show.Say("preparing " + name)
		grant, err := room.Prepare(c.Context(), name, f.valid)
		if err != nil {
			show.Stop()
			return err
		}
		file := filepath.Join(f.dir, name+".kubeconfig")
		if err := whole.Write(file, grant.Kubeconfig, 0o600); err != nil {
			return err
		}
		result.Students = append(result.Students, classGrant{name, file, grant.Expires.UTC()})
	}
	show.Stop()
	if a.json {
		return report.JSON(a.streams.Out, result)
	}
	fmt.Fprintf(a.streams.Out, "ready: %s; what is in %s is valid until %s\n", report.Count(n, "namespace"), f.dir, result.Students[0].ExpiresAt.Local().Format(time.DateTime))
	fmt.Fprintf(a.streams.Out, "next: give each student theirs, NN from 01 to %02d; they type\n  %s\nafter the class: %s\n", n, result.Up, a.typed("labctl class kubeconfigs --remove --dir "+shellWord(f.dir)))
	return nil
}

// ownImage is the operator's image on a lab's own nodes, as manifests/deployment.yaml names it.
const ownImage = "academy.example/academy-operator:lab"

// up is what a student types.
func up(f classroomFlags, l *lab.Lab) string {
	image := l.Cluster.OperatorImage
	if image == "" {
		image = ownImage
	}
	return fmt.Sprintf("labctl up --provider existing --kubeconfig %s --context student-NN --namespace student-NN --operator-image %s",
		shellWord(filepath.Join(f.dir, "student-NN.kubeconfig")), image)
}

// ownFolder refuses a folder in which others could put their own files in the place of the kubeconfigs. One that is not there yet is
// made for nobody else.
func ownFolder(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return &provider.Problem{Err: fmt.Errorf("--dir %s: it is there, and is no folder", dir), Hint: "ls -ld " + shellWord(dir)}
	case info.Mode().Perm()&0o022 == 0:
		return nil
	case info.Mode()&fs.ModeSticky != 0: // the machine's own, such as /tmp
		return &provider.Problem{Err: fmt.Errorf("--dir %s: others may write into it, and the kubeconfigs are secrets", dir), Hint: "mkdir -m 700 " + shellWord(filepath.Join(dir, "class"))}
	default:
		return &provider.Problem{Err: fmt.Errorf("--dir %s: others may write into it, and the kubeconfigs are secrets", dir), Hint: "chmod go-w " + shellWord(dir)}
	}
}

// room opens the lab's cluster for a class.
func (a *app) room(c *cobra.Command, f classroomFlags, question string, show *progress) (*lab.Lab, *existing.Room, error) {
	l, err := a.open(c.Context(), show.Say)
	if err != nil {
		return nil, nil, err
	}
	room, err := existing.NewRoom(l.Cluster.Kubeconfig, a.ask(c, f.yes), question)
	return l, room, err
}

// classWithdrawn is what `class kubeconfigs --remove --json` prints.
type classWithdrawn struct {
	Schema     string   `json:"schema"`
	Kind       string   `json:"kind"`
	Namespaces []string `json:"namespaces"`
}

func (a *app) classWithdraw(c *cobra.Command, f classroomFlags) error {
	show := newProgress(a.streams.Err)
	defer show.Stop()
	_, room, err := a.room(c, f, "remove the students' namespaces with all that is in them", show)
	if err != nil {
		show.Stop()
		return err
	}
	names, err := room.Withdraw(c.Context(), show.Say)
	show.Stop()
	if err != nil {
		return &provider.Problem{Err: fmt.Errorf("the namespaces are not all removed: %w", err), Hint: a.again("")}
	}
	for _, name := range names {
		if err := os.Remove(filepath.Join(f.dir, name+".kubeconfig")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	os.Remove(f.dir) // if it is empty now
	if a.json {
		return report.JSON(a.streams.Out, classWithdrawn{report.Schema, "ClassWithdrawn", append([]string{}, names...)})
	}
	_, err = fmt.Fprintf(a.streams.Out, "removed: %s of students, and the kubeconfigs in %s\n", report.Count(len(names), "namespace"), f.dir)
	return err
}
