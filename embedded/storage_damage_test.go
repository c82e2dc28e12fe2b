package embedded_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/dynajournal/dynajournal/embedded"
)

// damageRun is the environment variable with the damageSeries, in JSON, that the test program
// tries.
const damageRun = "EMBEDDED_DAMAGE_RUN"

// damageParts is the number of processes that share all bytes. A failed engine leaves memory and
// goroutines running, and hundreds of them slow a process down until opening seems to hang.
const damageParts = 400

// damageSeries selects the bytes of each file that one process changes, counted from its end: about
// Sample bytes, or if Sample is 0 one of every damageParts bytes, from Part on.
type damageSeries struct{ Sample, Part int }

// damagedFolder is a folder, and the load whose acknowledged writes it has.
type damagedFolder struct {
	name  string
	files map[string][]byte
	load  *storageLoad
}

// damageCounts are the outcomes of the changes of one kind of file.
type damageCounts struct{ Tried, Refused, Failed, Harmless int }

// folderFiles copies the files of a folder.
func folderFiles(fs vfs.FS) (map[string][]byte, error) {
	names, err := fs.List("data/here")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, name := range names {
		file, err := fs.Open(fs.PathJoin("data/here", name))
		if errors.Is(err, os.ErrNotExist) {
			// Pebble has removed the file in the background, after it has created the replacement.
			continue
		}
		if err != nil {
			return nil, err
		}
		files[name], err = io.ReadAll(file)
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// diskOf returns a file system with the files of the folder.
func diskOf(files map[string][]byte) (vfs.FS, error) {
	fs := vfs.NewMem()
	if err := fs.MkdirAll("data/here", 0o755); err != nil {
		return nil, err
	}
	for name, content := range files {
		file, err := fs.Create(fs.PathJoin("data/here", name), vfs.WriteCategoryUnspecified)
		if err != nil {
			return nil, err
		}
		_, err = file.Write(bytes.Clone(content)) // the file system may retain the slice
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
	}
	return fs, nil
}

// foldersToDamage returns a folder whose first engine was killed, one whose second engine was
// killed, so that it has tables and a log, and one that was closed.
func foldersToDamage() ([]damagedFolder, error) {
	fs := vfs.NewMem()
	load := &storageLoad{stored: map[string]string{}, maybe: map[string][]string{}, light: true}
	var folders []damagedFolder
	save := func(name string) error {
		files, err := folderFiles(fs)
		answered := &storageLoad{stored: maps.Clone(load.stored), made: true, index: true}
		folders = append(folders, damagedFolder{name, files, answered})
		return err
	}
	for _, name := range []string{"first log", "later log"} {
		engine, err := embedded.Open("data/here", embedded.WithFS(fs), embedded.WithSweepInterval(0))
		if err != nil {
			return nil, err
		}
		load.engine, load.client = engine, clientOf(engine)
		if name == "first log" {
			err = load.run()
		}
		for i := range 9 {
			err = errors.Join(err, load.put(fmt.Sprintf("%s %d", name, i), "1"))
		}
		if err = errors.Join(err, save(name), engine.Close()); err != nil {
			return nil, err
		}
	}
	return folders, save("closed")
}

// openDamaged opens a folder and reads it. It returns "refused", "failed" or "harmless", or a
// problem.
func openDamaged(f damagedFolder) (outcome, problem string) {
	fs, err := diskOf(f.files)
	if err != nil {
		return "", err.Error()
	}
	engine, err := embedded.Open("data/here", embedded.WithFS(fs), embedded.WithSweepInterval(0))
	if err != nil {
		if strings.ContainsAny(err.Error(), "\n\r") || strings.Contains(err.Error(), "panic") || len(err.Error()) > 600 {
			return "", "a bad error: " + err.Error()
		}
		return "refused", ""
	}
	load := *f.load
	load.engine, load.client = engine, clientOf(engine)
	err = load.check()
	if closing := engine.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return "failed", storageProblem(err)
	}
	return "harmless", ""
}

// kindOfFile returns the name of a file without its number.
func kindOfFile(name string) string {
	switch {
	case strings.HasSuffix(name, ".log"):
		return "log"
	case strings.HasSuffix(name, ".sst"):
		return "table"
	case strings.HasPrefix(name, "marker."):
		return "marker"
	default:
		kind, _, _ := strings.Cut(name, "-")
		return kind
	}
}

// damageAll changes one bit of bytes of every file and prints the outcomes.
func damageAll(given string) error {
	var series damageSeries
	if err := json.Unmarshal([]byte(given), &series); err != nil {
		return err
	}
	folders, err := foldersToDamage()
	if err != nil {
		return err
	}
	counts, problems := map[string]*damageCounts{}, []string{}
	for _, folder := range folders {
		for _, name := range slices.Sorted(maps.Keys(folder.files)) {
			kind := folder.name + ": " + kindOfFile(name)
			if counts[kind] == nil {
				counts[kind] = &damageCounts{}
			}
			intact := folder.files[name]
			step := damageParts
			if series.Sample > 0 {
				step = 1 + len(intact)/series.Sample
			}
			// The last byte is changed first, so that every sample has it.
			for at := len(intact) - 1 - series.Part; at >= 0; at -= step {
				changed := bytes.Clone(intact)
				changed[at] ^= 1 << (at % 8)
				files := maps.Clone(folder.files)
				files[name] = changed
				what := fmt.Sprintf("%s: %s, bit %d of byte %d of %d", folder.name, name, at%8, at, len(intact))
				watch := time.AfterFunc(faultTime, func() { panic(what + ": it hangs") })
				outcome, problem := openDamaged(damagedFolder{folder.name, files, folder.load})
				watch.Stop()
				if problem != "" {
					problems = append(problems, what+": "+problem)
				}
				counts[kind].add(outcome)
			}
		}
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"counts": counts, "problems": problems})
}

func (c *damageCounts) add(outcome string) {
	c.Tried++
	switch outcome {
	case "refused":
		c.Refused++
	case "failed":
		c.Failed++
	case "harmless":
		c.Harmless++
	}
}

func TestStorage_ChangedBit(t *testing.T) {
	t.Parallel()
	series := []damageSeries{{Sample: 5}}
	if *everyFault {
		series = nil
		for part := range damageParts {
			series = append(series, damageSeries{Part: part})
		}
	}
	counts := map[string]damageCounts{}
	for _, one := range series {
		for kind, more := range damageInProcess(t, one) {
			c := counts[kind]
			c.Tried, c.Refused = c.Tried+more.Tried, c.Refused+more.Refused
			c.Failed, c.Harmless = c.Failed+more.Failed, c.Harmless+more.Harmless
			counts[kind] = c
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%s: %+v", kind, counts[kind])
	}
}

// damageInProcess tries a series in a process of its own.
func damageInProcess(t *testing.T, series damageSeries) map[string]damageCounts {
	t.Helper()
	given := must(json.Marshal(series))(t)
	process := exec.CommandContext(t.Context(), os.Args[0])
	process.Env = append(os.Environ(), damageRun+"="+string(given))
	process.Stderr = os.Stderr
	output, err := process.Output()
	var found struct {
		Counts   map[string]damageCounts
		Problems []string
	}
	if err != nil || json.Unmarshal(output, &found) != nil {
		t.Fatalf("%s: %v\n%s", given, err, output)
	}
	for _, problem := range found.Problems {
		t.Error(problem)
	}
	return found.Counts
}

func TestOpen_FolderWithoutMarker(t *testing.T) {
	folders := must(foldersToDamage())(t)
	for _, folder := range folders {
		files := maps.Clone(folder.files)
		maps.DeleteFunc(files, func(name string, _ []byte) bool { return strings.HasPrefix(name, "marker.manifest") })
		_, err := embedded.Open("data/here", embedded.WithFS(must(diskOf(files))(t)))
		if err == nil || !strings.Contains(err.Error(), "marker.manifest is missing") {
			t.Errorf("%s: %v", folder.name, err)
		}
	}
}
