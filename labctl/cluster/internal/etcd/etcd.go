// Package etcd runs one embedded etcd member for a cluster that lives on this host only.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
)

// A log segment is allocated in full when it is begun; a lab needs few of etcd's usual 64 MB.
const segmentBytes = 4 << 20

// peerURL is recorded in the member's data and never dialled or listened on: a single member has no peers.
// It is constant so that the socket folder may differ between two starts.
const peerURL = "http://127.0.0.1:2380"

// Config says where the member keeps its data and where it listens.
type Config struct {
	Dir    string // absolute
	Socket string // absolute path of the unix socket for clients
}

// Endpoint returns the URL under which clients find a member that listens on socket.
func Endpoint(socket string) string { return "unix://" + socket }

// Run serves until ctx ends, then closes the member and returns nil. Data is not synced to disk: it survives the
// death of every process, and not a power loss.
func Run(ctx context.Context, cfg Config) error {
	if !filepath.IsAbs(cfg.Dir) || !filepath.IsAbs(cfg.Socket) {
		return fmt.Errorf("start etcd: %q and %q must be absolute", cfg.Dir, cfg.Socket)
	}
	member, err := memberConfig(cfg)
	if err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	wal.SegmentSizeBytes = segmentBytes
	server, err := embed.StartEtcd(member)
	if err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	defer server.Close()
	select {
	case <-ctx.Done():
		return nil
	case err := <-server.Err():
		return fmt.Errorf("serve etcd: %w", err)
	case <-server.Server.StopNotify():
		return errors.New("serve etcd: the member stopped by itself")
	}
}

func memberConfig(cfg Config) (*embed.Config, error) {
	client, err := url.Parse(Endpoint(cfg.Socket))
	if err != nil {
		return nil, err
	}
	peer, err := url.Parse(peerURL)
	if err != nil {
		return nil, err
	}
	c := embed.NewConfig()
	c.Name = "academy"
	c.Dir = cfg.Dir
	c.ListenClientUrls = []url.URL{*client}
	c.AdvertiseClientUrls = []url.URL{*client}
	c.ListenPeerUrls = nil
	c.AdvertisePeerUrls = []url.URL{*peer}
	c.InitialCluster = c.Name + "=" + peerURL
	// A lone member waits for one election time-out before it serves, so that is kept short.
	c.TickMs, c.ElectionMs = 10, 100
	c.UnsafeNoFsync = true
	// Few raft entries are kept in memory: no follower will ever ask for old ones.
	c.SnapshotCount, c.SnapshotCatchUpEntries = 1000, 100
	c.LogLevel = "warn"
	c.LogFormat = "console"
	c.LogOutputs = []string{"stderr"}
	return c, nil
}
