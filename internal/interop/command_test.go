//go:build interop

package interop_test

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// command runs the command on the engine, like an operator, and returns its output.
func command(tb testing.TB, args ...string) string {
	tb.Helper()
	out, err := commandAt(tb, endpoint(tb), args...)
	if err != nil {
		tb.Fatalf("dynajournal %q: %v\n%s", args, err, out)
	}
	return out
}

// commandAt runs the command on a service at an address. It may fail.
func commandAt(tb testing.TB, url string, args ...string) (string, error) {
	tb.Helper()
	args = append([]string{"--endpoint", url, "--output", "json"}, args...)
	run := exec.CommandContext(tb.Context(), filepath.Join(server.folder, "dynajournal"), args...)
	run.Env = append(run.Environ(), "AWS_ACCESS_KEY_ID=interop", "AWS_SECRET_ACCESS_KEY=interop")
	out, err := run.CombinedOutput()
	return string(out), err
}
