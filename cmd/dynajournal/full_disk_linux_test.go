package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// ownMounts names the environment variable of a test that runs in its own mount namespace.
const ownMounts = "DYNAJOURNAL_TEST_OWN_MOUNTS"

// smallDisk mounts a disk of the size, such as "4m", and returns its folder. Mounting needs a mount
// namespace, in which hasOwnMounts runs the test again. In the process without one, smallDisk
// returns an empty string, and the test has passed.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	if !hasOwnMounts(t) {
		return "" // it has passed in the other process
	}
	return mountDisk(t, "size="+size)
}

// hasOwnMounts reports whether the process has its own mount namespace. Otherwise it runs the test
// again, with the flags, in a process that has one. It skips the test if that is not possible.
func hasOwnMounts(t *testing.T, flags ...string) bool {
	t.Helper()
	if os.Getenv(ownMounts) != "" {
		return true
	}
	again := exec.CommandContext(t.Context(), "unshare", append([]string{
		"-m", os.Args[0], "-test.v", "-test.timeout=0", "-test.run", "^" + t.Name() + "$",
	}, flags...)...)
	again.Env = append(os.Environ(), ownMounts+"=1")
	output, err := again.CombinedOutput()
	switch {
	case exitless(err), strings.Contains(string(output), "unshare: "), strings.Contains(string(output), "--- SKIP"):
		t.Skipf("no small disk: %v %s", err, output)
	case err != nil:
		t.Fatalf("%v\n%s", err, output)
	}
	t.Logf("%s", output)
	return false
}

// mountDisk mounts a disk in memory with the options, and returns its folder.
func mountDisk(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("no small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// exitless reports whether a program could not be started.
func exitless(err error) bool {
	_, ended := err.(*exec.ExitError) //nolint:errorlint // os/exec returns it unwrapped
	return err != nil && !ended
}

func TestServe_StopsOnFullDisk(t *testing.T) {
	testsize.NeedsLong(t, "it fills a disk")
	clean(t)
	disk := smallDisk(t, "4m")
	if disk == "" {
		return
	}
	s := serve(t, "--data", disk+"/engine")
	must(t, "--endpoint", s.url, "tables", "create")
	ended := make(chan error, 1)
	go func() { ended <- s.Wait() }()
	appended := 0
	for range 100 {
		o := invoke(t.Context(), "", "--endpoint", s.url, "append", "a", "--string", strings.Repeat("x", 100_000))
		if o.status != statusDone {
			break
		}
		appended++
	}
	select {
	case err := <-ended:
		if exitless(err) || s.ProcessState.ExitCode() != statusFailed {
			t.Errorf("serve ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("serve goes on")
	}
	made, message, _ := strings.Cut(s.stderr.String(), "\n")
	if want := "made the folder " + disk + "/engine for the embedded engine"; made != want {
		t.Errorf("serve said %q, want %q", made, want)
	}
	if !strings.HasPrefix(message, "dynajournal: serve: embedded: "+embedded.ErrStorageFailed.Error()) ||
		strings.Count(message, "\n") != 1 ||
		!strings.Contains(message, "no space left on device") {
		t.Errorf("serve said %q", message)
	}
	o := invoke(t.Context(), "", "--data", disk+"/engine", "append", "b", "--string", strings.Repeat("x", 200_000))
	if o.status != statusFailed || strings.Count(o.err, "\n") != 1 {
		t.Errorf("on the full disk: %+v", o)
	}
	if err := syscall.Mount("none", disk, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	if found := must(t, "--data", disk+"/engine", "events", "a"); len(found) < appended || len(found) > appended+1 {
		t.Errorf("%d were appended, %d are there", appended, len(found))
	}
}

func TestReadOnlyDisk_IsNotInUse(t *testing.T) {
	clean(t)
	disk := smallDisk(t, "16m")
	if disk == "" {
		return
	}
	must(t, "--data", disk+"/engine", "append", "a", "--string", "x")
	if err := syscall.Mount("none", disk, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	o := invoke(t.Context(), "", "--data", disk+"/engine", "events", "a")
	if o.status != statusFailed || !strings.Contains(o.err, "read-only file system") ||
		strings.Contains(o.err, "in use") {
		t.Errorf("%+v", o)
	}
}

// The disk has no space for the first event of an id. If the engine showed the event anyway, the
// journal would assume that only the response was lost, and would acknowledge an event that is gone
// after a restart.
func TestFullDisk_RejectedFirstEvent(t *testing.T) {
	testsize.NeedsLong(t, "it fills a disk")
	clean(t)
	disk := smallDisk(t, "4m")
	if disk == "" {
		return
	}
	d := &diskRun{t: t, disk: disk}
	for _, id := range []string{"a", "b"} {
		serving, kill := context.WithCancel(t.Context())
		s := d.process(serving, "serve", "--addr", "127.0.0.1:0", "--data", d.engine())
		out, err := s.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		url := strings.TrimPrefix(strings.TrimSpace(line), "listening on ")
		if id == "a" {
			must(t, "--endpoint", url, "tables", "create")
		}
		if err := d.occupy(16 << 10); err != nil {
			t.Fatal(err)
		}
		if o := invoke(t.Context(), "", "--endpoint", url, "append", id, "--string",
			strings.Repeat("x", 100_000)); o.status != statusFailed {
			t.Errorf("an event without room was answered by %+v", o)
		}
		kill()
		_ = s.Wait()
		if err := os.Remove(disk + "/other"); err != nil {
			t.Fatal(err)
		}
		if found, err := d.events(id); found != 0 || err != nil {
			t.Errorf("%d events are there, %v", found, err)
		}
	}
}
