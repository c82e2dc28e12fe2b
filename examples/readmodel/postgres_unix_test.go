//go:build unix

package main

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// TestPostgres runs the program with PostgreSQL: the server of Debian's package, with its data in a
// temporary folder.
func TestPostgres(t *testing.T) {
	t.Setenv("POSTGRES", startPostgres(t))
	main()
	db, err := sql.Open("pgx", os.Getenv("POSTGRES"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	balance := 0
	if err := db.QueryRow(`SELECT balance FROM balances WHERE account = 'anna'`).Scan(&balance); err != nil || balance != 37 {
		t.Errorf("anna has %d, %v", balance, err)
	}
}

// startPostgres starts a server that listens on a socket in its folder, and returns its connection
// string. Without the package it skips the test.
func startPostgres(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Skip("there is no PostgreSQL server (Debian: postgresql)")
	}
	as := serverUser(t)
	folder, err := os.MkdirTemp("", "pg") // short: the name of a socket has 107 bytes at most
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if as != nil {
		if err := os.Chown(folder, int(as.Uid), int(as.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	command := func(name string, args ...string) *exec.Cmd {
		c := exec.Command(filepath.Join(filepath.Dir(slices.Max(found)), name), args...)
		c.Dir, c.SysProcAttr = folder, &syscall.SysProcAttr{Credential: as}
		return c
	}
	data := filepath.Join(folder, "data")
	if out, err := command("initdb", "-D", data, "-U", "bank", "-A", "trust", "-E", "UTF8", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v: %s", err, out)
	}
	server := command("postgres", "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGQUIT) // stops at once
		_ = server.Wait()
	})
	source := fmt.Sprintf("host=%s user=bank dbname=postgres sslmode=disable", folder)
	db, err := sql.Open("pgx", source)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		err := db.Ping()
		if err == nil {
			return source
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// serverUser returns the user for the server, which refuses to run as root. nil means the user of
// the test.
func serverUser(t *testing.T) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	t.Skip("a PostgreSQL server does not run as root, and there is no other user")
	return nil
}
