package sqltest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
)

// server is a PostgreSQL server that listens on a socket in its folder.
type server struct {
	bin, folder string
	// as is the user that the server runs as, nil for the user of the test. The server refuses to
	// run as root.
	as *syscall.Credential

	process *exec.Cmd
	// ended is closed when the process has ended.
	ended chan struct{}
}

// errNoServer reports that no server is installed, or that none can run here.
var errNoServer = errors.New("no PostgreSQL server")

// findPostgres returns the folder of the server's programs.
func findPostgres() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is right
	if len(found) == 0 {
		return "", fmt.Errorf("%w: initdb is not found (Debian: postgresql)", errNoServer)
	}
	return filepath.Dir(slices.Max(found)), nil
}

// unprivileged returns the user that a server can run as.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // without a credential the server runs as the test's user
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
	}
	return nil, fmt.Errorf("%w: it does not run as root, and there is no other user", errNoServer)
}

// newServer makes and starts a server.
func newServer() (*server, error) {
	bin, err := findPostgres()
	if err != nil {
		return nil, err
	}
	as, err := unprivileged()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "pg") // short: the name of a socket has 107 bytes at most
	if err != nil {
		return nil, err
	}
	s := &server{bin: bin, folder: folder, as: as}
	if as != nil {
		if err := os.Chown(folder, int(as.Uid), int(as.Gid)); err != nil {
			return nil, err
		}
	}
	made := s.command("initdb", "-D", s.data(), "-U", "admin", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if out, err := made.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	return s, s.start()
}

func (s *server) data() string { return filepath.Join(s.folder, "data") }

func (s *server) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, name), args...)
	c.Dir = s.folder
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	return c
}

// start starts the server, and waits until it answers. While processes of a killed server still
// exist, a new one ends at once, so it is started again.
func (s *server) start() error {
	db, err := sql.Open("pgx", s.source("", ""))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if s.ended == nil || closed(s.ended) {
			if err := s.launch(); err != nil {
				return err
			}
		}
		if err = db.Ping(); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// launch starts the process.
func (s *server) launch() error {
	process, ended := s.command("postgres", "-D", s.data(), "-k", s.folder, "-c", "listen_addresses=",
		"-c", "fsync=off", "-c", "max_connections=200", "-c", "deadlock_timeout=20ms", "-c", "autovacuum=off"), make(chan struct{})
	if err := process.Start(); err != nil {
		return err
	}
	s.process, s.ended = process, ended
	go func() {
		_ = process.Wait() // its status is of no interest
		close(ended)
	}()
	return nil
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// source returns the name of the database for a driver. host, if set, replaces the socket.
func (s *server) source(schema, host string) string {
	if host == "" {
		host = "host=" + s.folder
	}
	source := host + " user=admin database=postgres sslmode=disable"
	if schema != "" {
		source += " search_path=" + schema
	}
	return source
}

// kill kills the server and all its processes, as in a power failure.
func (s *server) kill() {
	for _, pid := range append(s.children(), s.process.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
	<-s.ended
}

// children returns the processes of the server.
func (s *server) children() []int {
	parent := s.process.Process.Pid
	listed, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", parent, parent)) // or none
	var pids []int
	for field := range strings.FieldsSeq(string(listed)) {
		if pid, err := strconv.Atoi(field); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// stop ends the server, and removes its folder.
func (s *server) stop() error {
	_ = s.process.Process.Signal(syscall.SIGQUIT) // at once
	<-s.ended
	err := os.RemoveAll(s.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// shared is the server of most tests.
var shared = sync.OnceValues(newServer)

// postgres returns a server, or skips the test.
func postgres(t *testing.T, make func() (*server, error)) *server {
	t.Helper()
	s, err := make()
	if errors.Is(err, errNoServer) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// schema makes a schema for a test.
func (s *server) schema(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("s%d", schemas.Add(1))
	db, err := sql.Open("pgx", s.source("", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(context.Background(), "CREATE SCHEMA "+name); err != nil {
		t.Fatal(err)
	}
	return name
}
