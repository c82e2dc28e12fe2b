//go:build differential

package conformance_test

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
	dynoxidePackage = "@dynoxide/linux-x64@1.2.1"
	// dynoxideVariable names the environment variable with the path of the binary, for machines without npm.
	dynoxideVariable = "DYNAJOURNAL_DYNOXIDE"
)

// dynoxide is the path of the binary: that of the environment, or of the package, which npm brings into the user's cache
// once.
func dynoxide(t *testing.T) string {
	t.Helper()
	if given := os.Getenv(dynoxideVariable); given != "" {
		return given
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skipf("skipped: npm is not found, and %s is not set", dynoxideVariable)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("skipped: there is no place for the binary: %v", err)
	}
	folder := filepath.Join(cache, "dynajournal", "dynoxide-1.2.1")
	binary := filepath.Join(folder, "node_modules", "@dynoxide", "linux-x64", "dynoxide")
	if _, err := os.Stat(binary); err == nil {
		return binary
	}
	install := exec.CommandContext(t.Context(), npm, "install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts", dynoxidePackage)
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("skipped: npm cannot bring %s: %v\n%s", dynoxidePackage, err, out)
	}
	return binary
}

// serveDynoxide is the address of a server with nothing in it.
func serveDynoxide(t *testing.T, binary string) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, kill := context.WithCancel(context.WithoutCancel(t.Context()))
	server := exec.CommandContext(ctx, binary, "serve", "--port", port)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		kill()
		_ = server.Wait() // it was killed
	})
	for deadline := time.Now().Add(20 * time.Second); ; {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = connection.Close() // nothing was written to it
			return "http://" + address
		}
		if time.Now().After(deadline) {
			t.Fatalf("dynoxide does not answer: %v", err)
		}
	}
}
