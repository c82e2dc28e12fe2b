package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/archive"
	"github.com/dynajournal/dynajournal/internal/filelock"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// asProcess returns a command line that runs in its own process.
func asProcess(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, os.Args[0], args...)
	command.Env = append(os.Environ(), asCommand+"=1")
	return command
}

// many writes ids with events at the default location.
func many(t *testing.T, ids, events int) {
	t.Helper()
	for i := range ids {
		args := []string{"append", fmt.Sprint("id-", i)}
		for n := range events {
			args = append(args, "--string", strings.Repeat(fmt.Sprint(i, " ", n), 100))
		}
		must(t, args...)
	}
}

// served serves the default location, so that several processes can use it.
func served(t *testing.T) string {
	t.Helper()
	command := asProcess(t.Context(), "serve", "--addr", "127.0.0.1:0")
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	line := make([]byte, 200)
	n, err := out.Read(line)
	address, ok := strings.CutPrefix(strings.TrimSpace(string(line[:n])), "listening on ")
	if err != nil || !ok {
		t.Fatalf("it says %q, %v", line[:n], err)
	}
	return address
}

// Exports of different persistence ids have different unfinished parts, so the lock is on the name
// of the file.
func TestExport_SeveralToOneFile(t *testing.T) {
	clean(t)
	many(t, 4, 20)
	endpoint := served(t)
	file := filepath.Join(t.TempDir(), "f")
	var mu sync.Mutex
	var all sync.WaitGroup
	won := 0
	for i := range 4 {
		all.Go(func() {
			args := []string{"export", "--endpoint", endpoint, "--all", file}
			if i%2 == 0 {
				args = []string{"export", "--endpoint", endpoint, "id-0", "id-1", file}
			}
			out, err := asProcess(t.Context(), args...).CombinedOutput()
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else if said := string(out); !strings.Contains(said, "another process is writing it") && !strings.Contains(said, "already exists") ||
				strings.Count(said, "\n") != 1 {
				t.Errorf("one that has lost says %q", said)
			}
		})
	}
	all.Wait()
	if won != 1 {
		t.Errorf("%d have won", won)
	}
	must(t, "import", file, "--data", t.TempDir())
}

func TestExport_SecondToSameFileFails(t *testing.T) {
	clean(t)
	history(t)
	file := filepath.Join(t.TempDir(), "f")
	guard, err := filelock.Acquire(file + ".partial.lock")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"export", "--all", file}, {"export", "a", file}} {
		o := invoke(t.Context(), "", args...)
		if o.status != statusFailed || !strings.Contains(o.err, file+": ") ||
			!strings.Contains(o.err, "another process is writing it") {
			t.Errorf("%q: %+v", args, o)
		}
	}
	guard.Release()
	must(t, "export", "--all", file)
	if left, _ := filepath.Glob(file + ".*"); left != nil {
		t.Errorf("%q are left", left)
	}
}

// TestExport_ContinuesAfterSIGKILL kills the command until one run is complete.
func TestExport_ContinuesAfterSIGKILL(t *testing.T) {
	clean(t)
	many(t, 20, 30)
	folder := t.TempDir()
	want := must(t, "export", "--all", filepath.Join(folder, "want"))[0]
	file := filepath.Join(folder, "f")
	kills := 0
	for wait := 10 * time.Millisecond; ; wait += wait/8 + time.Millisecond {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		out, err := asProcess(ctx, "export", "--all", file).CombinedOutput()
		killed := ctx.Err() != nil
		cancel()
		// If it was killed after the rename, the export is complete.
		if _, gone := os.Lstat(file); gone == nil {
			break
		}
		if err == nil || !killed {
			t.Fatalf("%v: %s", err, out)
		}
		kills++
	}
	t.Logf("killed %d times", kills)
	got := must(t, "import", file, "--data", t.TempDir())[0]
	for _, key := range []string{"persistence_ids", "events", "snapshots", "checksum"} {
		if got[key] != want[key] {
			t.Errorf("%s is %v, want %v", key, got[key], want[key])
		}
	}
}

// The export does not replace a file that appears while it runs.
func TestExport_DoesNotReplaceFile(t *testing.T) {
	clean(t)
	history(t)
	file := filepath.Join(t.TempDir(), "f")
	err := exportTo(t, file, func(*exportRun) {
		if err := os.WriteFile(file, []byte("another's"), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	if !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v", err)
	}
	if content, err := os.ReadFile(file); err != nil || string(content) != "another's" {
		t.Errorf("the file has become %q, %v", content, err)
	}
}

// exportTo exports all ids of the default location. It calls change when the first id is listed.
func exportTo(t *testing.T, file string, change func(*exportRun)) error {
	t.Helper()
	s := &session{streams: streams{out: os.Stdout, err: os.Stderr}, location: &location{Layout: layoutCurrent}}
	return s.currentJournal(t.Context(), checking, func(j *dynajournal.Journal) error {
		e := &exportRun{
			journal: j, listed: true, shown: newProgress(os.Stderr,
				"events"), known: map[idKey]bool{}, sums: map[idKey]archive.Checksum{},
		}
		pids := func(yield func(string, error) bool) {
			change(e)
			for pid, err := range j.CurrentPersistenceIDs(t.Context(), dynajournal.IDsOptions{Scan: true}) {
				if !yield(pid, err) {
					return
				}
			}
		}
		_, err := e.file(t.Context(), file, file+".partial", pids, 1)
		return err
	})
}

// The content of the file is compared with the data read from the journal, not with the data
// written. Here the unfinished file of another export replaces the file.
func TestExport_IsReadBack(t *testing.T) {
	for name, c := range map[string]struct {
		expected map[idKey]archive.Checksum
		want     string
	}{
		"another checksum": {map[idKey]archive.Checksum{keyOf("a"): {1}}, `"a" has checksum `},
		"a missing id":     {map[idKey]archive.Checksum{keyOf("never"): {1}}, "1 persistence ids are missing"},
	} {
		t.Run(name, func(t *testing.T) {
			clean(t)
			history(t)
			file := filepath.Join(t.TempDir(), "f")
			part := filepath.Join(t.TempDir(), "part")
			must(t, "export", "a", part)
			content, err := os.ReadFile(part)
			if err == nil {
				err = os.WriteFile(file+".partial", content, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			err = exportTo(t, file, func(e *exportRun) { e.sums = c.expected })
			if !errors.Is(err, errOther) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the file has its name: %v", err)
			}
		})
	}
}

// Damage anywhere in the file is found before the first event is written.
func TestImport_DamagedArchiveWritesNothing(t *testing.T) {
	testsize.NoRace(t, "it does one thing after the other")
	clean(t)
	many(t, 5, 3)
	folder := t.TempDir()
	file := filepath.Join(folder, "f")
	must(t, "export", "--all", file)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(folder, "target")
	for at := 0; at < len(whole); at += max(1, len(whole)/25) {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 1
		for what, content := range map[string][]byte{"changed": damaged, "cut": whole[:at]} {
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
			o := invoke(t.Context(), "", "import", file, "--data", target)
			if o.status != statusFailed || !strings.Contains(o.err, "archive") || o.out != "" {
				t.Errorf("%s at %d: %+v", what, at, o)
			}
		}
	}
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was written: %v", err)
	}
}

func TestImport_NeedsRegularFile(t *testing.T) {
	clean(t)
	if o := invoke(t.Context(), "", "import", t.TempDir()); o.status != statusFailed ||
		!strings.Contains(o.err, "is not a regular file") {
		t.Errorf("%+v", o)
	}
}

// After the import, the journal is read and compared with the archive. Each case is a difference.
func TestImport_IsComparedWithArchive(t *testing.T) {
	clean(t)
	history(t)
	file := filepath.Join(t.TempDir(), "f")
	must(t, "export", "--all", file)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	contents, err := archive.Check(bytes.NewReader(content), 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	differs := func(t *testing.T, pid string) (archive.Checksum, error) {
		t.Helper()
		r, err := archive.NewReader(bytes.NewReader(content), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		want := expect(&contents, pid)
		for {
			item, err := r.Next()
			if err != nil {
				break
			}
			if item.PersistenceID == pid {
				want.take(&item)
			}
		}
		var sum archive.Checksum
		s := &session{streams: streams{out: os.Stdout, err: os.Stderr}, location: &location{Layout: layoutCurrent}}
		compared := s.currentJournal(t.Context(), reading, func(j *dynajournal.Journal) (err error) {
			sum, err = want.compare(t.Context(), j)
			return err
		})
		return sum, compared
	}
	var sum archive.Checksum
	for _, pid := range []string{"a", "b", "c"} {
		found, err := differs(t, pid)
		if err != nil {
			t.Errorf("%s: %v", pid, err)
		}
		sum.Add(found)
	}
	if sum != contents.Checksum {
		t.Errorf("the journal has the checksum %v, want %v", sum, contents.Checksum)
	}
	must(t, "append", "c", "--string", "written behind the archive's last number")
	must(t, "snapshot", "save", "c", "--seq", "1", "--string", "besides")
	if _, err := differs(t, "c"); err != nil {
		t.Errorf("what is behind the archive counts: %v", err)
	}
	for _, c := range []struct{ pid, change string }{
		{"a", "snapshot delete a"},
		{"b", "purge b --yes --now"},
		{"c", "delete c --to 1"},
	} {
		must(t, strings.Fields(c.change)...)
		if _, err := differs(t, c.pid); !errors.Is(err, errDiffers) {
			t.Errorf("after %s: %v", c.change, err)
		}
	}
}

// A persistence id that differs is named, and is not counted as imported. The exit status is 1.
func TestImport_FailsIfJournalDiffers(t *testing.T) {
	t.Parallel()
	i := &importRun{}
	for _, pid := range []string{"x", "y"} {
		i.different = append(i.different, fmt.Errorf("%q: %w", pid, errDiffers))
	}
	var errs bytes.Buffer
	err := i.report(&session{streams: streams{err: &errs}})
	if partial := new(partialError); !errors.As(err, &partial) ||
		!strings.Contains(err.Error(), `2 persistence ids differ from the archive, the first: "x"`) {
		t.Errorf("%v", err)
	}
	if lines := slices.Collect(strings.Lines(errs.String())); len(lines) != 2 ||
		!strings.HasPrefix(lines[1], `different: "y": `) {
		t.Errorf("it says %q", lines)
	}
	if err := (&importRun{contents: archive.Contents{Checksum: archive.Checksum{1}}}).report(&session{}); err == nil {
		t.Error("another checksum in total is no failure")
	}
}
