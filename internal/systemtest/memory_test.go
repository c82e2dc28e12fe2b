package systemtest

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// The work of a process with little memory, and its memory limits.
const (
	crowd = 10_000
	// Each of crowdJournals is read by several entities of the crowd, a large one by fewer.
	// Together they read many times the limit.
	crowdJournals, readersOfLarge = 100, 20
	// fewConnections bounds the responses in memory at the same time. The largest take some
	// megabytes.
	fewConnections = 16
	memoryLimit    = 64 << 20
	// memoryPeak is the allowed peak of resident memory. memoryLimit is a soft limit on the memory
	// that Go manages. The program itself takes another 30 MB, and on a busy machine there is
	// garbage that is not collected yet. Without admission the peak is 246 MiB or more.
	memoryPeak = memoryLimit * 5 / 2
	// endpointOfCrowd is the environment variable that makes TestCrowd the process with little
	// memory. Its value is the endpoint and the task.
	endpointOfCrowd = "DYNAJOURNAL_TEST_CROWD"
)

// crowdJournal returns the number of events of a journal, and their size. Most journals have 40 KB.
// Every fifth has more than a megabyte: half of these in a few large events (two pages of one
// partition), and half in many events of the usual size (a page of each of six partitions).
func crowdJournal(journal int) (events, eventBytes int) {
	switch {
	case journal%10 == 0:
		return 5, 240 << 10
	case journal%5 == 0:
		return 550, 2 << 10
	}
	return 5, 8 << 10
}

// journalOf returns the journal that an entity of the crowd reads.
func journalOf(entity int) int {
	const every = crowd / crowdJournals / readersOfLarge
	journal := entity % crowdJournals
	if journal%5 == 0 && entity/crowdJournals%every != 0 {
		journal++
	}
	return journal
}

// crowdTasks are the tasks of the entities of a crowd.
var crowdTasks = map[string]func(t *testing.T, j *dynajournal.Journal){
	"recoveries of large journals": func(t *testing.T, j *dynajournal.Journal) {
		t.Helper()
		forEach(t, func(i int) error {
			n, journal := 0, journalOf(i)
			_, err := j.Recover(t.Context(), fmt.Sprintf("large-%d", journal), dynajournal.RecoverOptions{}, func(dynajournal.Event) error {
				n++
				return nil
			})
			if events, _ := crowdJournal(journal); err == nil && n != events {
				err = fmt.Errorf("%d events are recovered, %d are stored", n, events)
			}
			return err
		})
	},
	"a flood of writers": func(t *testing.T, j *dynajournal.Journal) {
		t.Helper()
		writers := make([]*dynajournal.Writer, crowd)
		forEach(t, func(i int) (err error) {
			writers[i], err = j.Recover(t.Context(), fmt.Sprintf("new-%d", i), dynajournal.RecoverOptions{}, nil)
			return err
		})
		payload := bytes.Repeat([]byte{0xa5}, 512)
		forEach(t, func(i int) error {
			_, err := writers[i].Append(t.Context(), payload)
			return err
		})
	},
}

// forEach calls do for all entities of the crowd concurrently.
func forEach(t *testing.T, do func(i int) error) {
	t.Helper()
	var all errgroup.Group
	for i := range crowd {
		all.Go(func() error { return do(i) })
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
}

// TestCrowd is the process with little memory.
func TestCrowd(t *testing.T) {
	endpoint, what, found := strings.Cut(os.Getenv(endpointOfCrowd), " ")
	if !found {
		t.Skip("it is run by TestMemoryIsBounded, in a process of its own")
	}
	j, err := dynajournal.Open(t.Context(), dynajournal.Config{
		Endpoint: endpoint, AccessKeyID: "a", SecretAccessKey: "a",
		MaxConnections: fewConnections,
		// all entities must be able to wait for their turn
		OperationTimeout: 10 * time.Minute, AttemptTimeout: 10 * time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	crowdTasks[what](t, j)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(regexp.MustCompile(`VmHWM:.*`).Find(status)))
}

func TestMemoryIsBounded(t *testing.T) {
	testsize.NeedsLong(t, "it takes some time")
	if testing.Short() || testsize.Race {
		t.Skip("skipped: it takes some time, and with the race detector more memory")
	}
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skipf("skipped: the system does not tell the peak of resident memory: %v", err)
	}
	engine, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(engine)
	t.Cleanup(func() {
		server.Close()
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	config := dynajournal.Config{AWS: engine.AWSConfig()}
	if err := dynajournal.CreateTables(t.Context(), config, dynajournal.TableOptions{}); err != nil {
		t.Fatal(err)
	}
	j, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	for i := range crowdJournals {
		count, size := crowdJournal(i)
		events := slices.Repeat([]any{bytes.Repeat([]byte{0xa5}, size)}, count)
		if _, err := recoverWriter(t, j, fmt.Sprintf("large-%d", i), 0).AppendEach(t.Context(), events...); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for what := range crowdTasks {
		t.Run(what, func(t *testing.T) {
			process := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCrowd$", "-test.v")
			process.Env = append(os.Environ(), endpointOfCrowd+"="+server.URL+" "+what, fmt.Sprintf("GOMEMLIMIT=%d", memoryLimit))
			out, err := process.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %.2000s", err, out)
			}
			m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(out)
			if m == nil {
				t.Fatalf("it does not say its peak of memory: %.2000s", out)
			}
			kilobytes, err := strconv.ParseInt(string(m[1]), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("at most %d MiB of resident memory", kilobytes>>10)
			if peak := kilobytes << 10; peak > memoryPeak {
				t.Errorf("%d MiB of resident memory, want at most %d", peak>>20, memoryPeak>>20)
			}
		})
	}
}
