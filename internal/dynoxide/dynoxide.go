// Package dynoxide starts an independent implementation of DynamoDB, for tests that run on it or
// compare with it.
package dynoxide

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const (
	npmPackage = "@dynoxide/linux-x64@1.2.1"
	// variable names the environment variable with the path of the binary, for machines without
	// npm.
	variable = "DYNAJOURNAL_DYNOXIDE"
	// patience is how long a server may take to start.
	patience = 20 * time.Second
)

// Find returns the path of the binary: that in the environment variable, or that of the npm
// package, which npm installs once into the user's cache. If neither is available, it skips the
// test.
func Find(tb testing.TB) string {
	tb.Helper()
	if given := os.Getenv(variable); given != "" {
		return given
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		tb.Skipf("skipped: npm is not found, and %s is not set", variable)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		tb.Skipf("skipped: there is no place for the binary: %v", err)
	}
	folder := filepath.Join(cache, "dynajournal", "dynoxide-1.2.1")
	path := filepath.Join(folder, "node_modules", "@dynoxide", "linux-x64", "dynoxide")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	args := []string{"install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts", npmPackage}
	install := exec.CommandContext(tb.Context(), npm, args...) //nolint:gosec // npm as the path has it
	if out, err := install.CombinedOutput(); err != nil {
		tb.Skipf("skipped: npm cannot bring %s: %v\n%s", npmPackage, err, out)
	}
	return path
}

// Serve starts an empty server, and returns its URL. The server ends with the test.
func Serve(tb testing.TB, binary string) string {
	tb.Helper()
	listener, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		tb.Fatal(err)
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, kill := context.WithCancel(context.WithoutCancel(tb.Context()))
	server := exec.CommandContext(ctx, binary, "serve", "--port", port) //nolint:gosec // from Find
	if err := server.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		kill()
		_ = server.Wait() // it was killed
	})
	for deadline := time.Now().Add(patience); ; {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = connection.Close() // nothing was written to it
			return "http://" + address
		}
		if time.Now().After(deadline) {
			tb.Fatalf("dynoxide does not respond: %v", err)
		}
	}
}
