package embedded

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"academy.example/lab/labctl/internal/provider/home"
)

// maxSocketDir leaves room for the longest socket name below it: a socket path holds 108 bytes, 104 on macOS.
const maxSocketDir = 60

// paths are the folders and files of one lab.
type paths struct {
	home    home.Home
	state   string // private, removed by Down
	sockets string // private and short, removed by Down
}

// newPaths returns the paths of a lab; nothing is made yet.
func newPaths(name string) (paths, error) {
	at, err := home.New(name)
	return paths{home: at, state: at.State, sockets: socketDir(at.State)}, err
}

// socketDir is a short folder that belongs to this state folder alone.
func socketDir(state string) string {
	sum := sha256.Sum256([]byte(state))
	short := fmt.Sprintf("labctl-%d-%s", os.Getuid(), hex.EncodeToString(sum[:4]))
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) && len(dir)+1+len(short) <= maxSocketDir && home.OwnedPrivately(dir) == nil {
		return filepath.Join(dir, short)
	}
	return filepath.Join("/tmp", short)
}
