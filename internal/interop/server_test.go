//go:build interop

package interop_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// server is `dynajournal serve` on a loopback port, one for all tests.
var server struct {
	sync.Mutex
	process *exec.Cmd
	folder  string
	url     string
}

const serverPatience = 20 * time.Second

// endpoint starts the server if it is not running, and returns its address.
func endpoint(tb testing.TB) string {
	tb.Helper()
	needJVM(tb)
	server.Lock()
	defer server.Unlock()
	if server.url != "" {
		return server.url
	}
	var err error
	if server.folder, err = os.MkdirTemp("", "interop-*"); err != nil {
		tb.Fatalf("make a folder for the command: %v", err)
	}
	command := filepath.Join(server.folder, "dynajournal")
	build := exec.CommandContext(tb.Context(), "go", "build", "-o", command, "../../cmd/dynajournal")
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("build the command: %v\n%s", err, out)
	}
	process := exec.CommandContext(context.Background(), command, "serve", "--memory", "--addr", "127.0.0.1:0")
	process.Stderr = os.Stderr
	out, err := process.StdoutPipe()
	if err == nil {
		err = process.Start()
	}
	if err != nil {
		tb.Fatalf("start the server: %v", err)
	}
	server.process = process
	line, err := bufio.NewReader(out).ReadString('\n')
	url, found := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !found {
		tb.Fatalf("the server printed %q (%v)", line, err)
	}
	server.url = url
	return url
}

// stopServer stops the server, if it was started, and returns an error if it did not exit cleanly.
func stopServer() error {
	if server.process == nil {
		return nil
	}
	err := server.process.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(serverPatience, func() { _ = server.process.Process.Kill() })
	defer timer.Stop()
	if err = errors.Join(err, server.process.Wait(), os.RemoveAll(server.folder)); err != nil {
		return fmt.Errorf("stop the server: %w", err)
	}
	return nil
}
