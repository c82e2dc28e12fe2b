package service_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

var (
	duration   = flag.Duration("simulate.duration", 0, "how long to run histories; 0 is a fixed number of histories")
	operations = flag.Int("simulate.operations", 0, "how many operations to run; 0 is no such bound")
	first      = flag.Uint64("simulate.seed", 1, "the seed of the first history")
	tracing    = flag.Bool("simulate.trace", false, "print what is done, for a failure")
)

func TestMain(m *testing.M) {
	testsize.RelaxCollector()
	goleak.VerifyTestMain(m)
}

// fixed is the number of histories, unless a flag limits them by time or by operations.
var fixed = testsize.Of[uint64](3, 60)

// TestService runs random histories until one fails, or enough were run. It prints the seed. It
// runs a history on each processor at the same time. Goroutines that are ready at the same time run
// in any order, so it may take several runs to repeat a failure.
func TestService(t *testing.T) {
	sum := &totals{start: time.Now(), next: *first, counts: map[string]int{}}
	t.Run("histories", func(t *testing.T) {
		for i := range runtime.GOMAXPROCS(0) {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				for !t.Failed() {
					seed, more := sum.take()
					if !more {
						return
					}
					synctest.Test(t, func(t *testing.T) {
						s := &service{T: t, history: draw(seed), sum: sum}
						s.run()
						if err := s.failed(); err != nil {
							t.Errorf("-simulate.seed=%d: %v\n%v", seed, err, s.history)
						}
					})
				}
			})
		}
	})
	t.Logf("-simulate.seed from %d to %d: %v", *first, sum.next-1, sum)
}

// totals has the totals of all histories.
type totals struct {
	start time.Time

	mu sync.Mutex
	// next is the seed of the next history.
	next                  uint64
	histories, operations int
	// counts has everything else by its name.
	counts map[string]int
}

// take returns the seed of the next history, or false if enough was run. Without flags the same
// histories are run each time.
func (s *totals) take() (seed uint64, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	enough := s.next >= *first+fixed
	if *duration > 0 || *operations > 0 {
		enough = *duration > 0 && time.Since(s.start) > *duration || *operations > 0 && s.operations >= *operations
	}
	if enough {
		return 0, false
	}
	s.next++
	return s.next - 1, true
}

// end records that a history has ended.
func (s *totals) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.histories++
}

// operation records that an operation begins.
func (s *totals) operation(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.operations++
	s.counts[what]++
}

func (s *totals) count(what string) { s.add(what, 1) }

func (s *totals) add(what string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[what] += n
}

func (s *totals) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d histories, %d operations\n", s.histories, s.operations)
	for _, what := range slices.Sorted(maps.Keys(s.counts)) {
		fmt.Fprintf(&b, "  %8d %s\n", s.counts[what], what)
	}
	return b.String()
}

// history is a random history.
type history struct {
	seed uint64
	// callers is the number of callers of the service. operations is the number of operations of
	// each caller in a part.
	processes, callers, entities, states, operations int
	// swept reports whether projections find events by sweeps instead of streams.
	swept bool
	// rate is the probability of each fault of a request.
	rate      float64
	snapshots entity.Snapshots
	purges    bool
	// wrongClocks is how far the clock of each process is ahead.
	wrongClocks []time.Duration
}

func (h history) String() string {
	return fmt.Sprintf("seed %d: %d processes, %d callers, %d entities, %d states, %d operations in each part, swept %v, faults %.3f, %+v, purges %v, clocks wrong by %v",
		h.seed, h.processes, h.callers, h.entities, h.states, h.operations, h.swept, h.rate, h.snapshots, h.purges, h.wrongClocks)
}

func draw(seed uint64) history {
	r := rand.New(rand.NewPCG(seed, 1))
	h := history{
		seed: seed, processes: 2 + r.IntN(2), callers: 2 + r.IntN(3), entities: 1 + r.IntN(3), states: 1,
		operations: 8 + r.IntN(18), swept: r.IntN(3) == 0, rate: []float64{0, 0.005, 0.01, 0.02}[r.IntN(4)],
		snapshots: entity.Snapshots{
			Every: []int64{0, 1, 3, 7}[r.IntN(4)], Keep: 1 + r.IntN(2), DeleteEvents: r.IntN(2) == 0,
		},
		purges: r.IntN(2) == 0,
	}
	if h.snapshots.Every == 0 {
		h.snapshots.DeleteEvents = false
	}
	wrong := []time.Duration{0, 0, 0, 3 * time.Minute, -3 * time.Minute, 25 * time.Hour, -25 * time.Hour}
	for range h.processes {
		h.wrongClocks = append(h.wrongClocks, wrong[r.IntN(len(wrong))])
	}
	return h
}

// faults has the faults of requests. All have the same rate, multiplied by a weight if few requests
// can have the fault. A slow request is performed after its caller has given up.
var faults = []struct {
	fault  embedded.Fault
	weight float64
}{
	{embedded.Fault{Effect: embedded.EffectReset}, 1},
	{embedded.Fault{Effect: embedded.EffectReset, Applied: true}, 1},
	{embedded.Fault{Effect: embedded.EffectThrottling}, 1},
	{embedded.Fault{Effect: embedded.EffectThroughputExceeded}, 1},
	{embedded.Fault{Effect: embedded.EffectInternalError}, 1},
	{embedded.Fault{Effect: embedded.EffectInternalError, Applied: true}, 1},
	{embedded.Fault{Effect: embedded.EffectUnavailable}, 1},
	{embedded.Fault{Effect: embedded.EffectTruncated}, 1},
	{embedded.Fault{Effect: embedded.EffectSlow, Delay: 2 * time.Second}, 1},
	{embedded.Fault{Effect: embedded.EffectSlow, Delay: 4 * time.Minute}, 1},
	{embedded.Fault{Effect: embedded.EffectSlow, Delay: 300 * time.Millisecond, Applied: true}, 1},
	{embedded.Fault{Effect: embedded.EffectTransactionConflict}, 10},
	{embedded.Fault{Effect: embedded.EffectUnprocessed, Some: true}, 10},
	{embedded.Fault{Effect: embedded.EffectHalfPage}, 25},
	{embedded.Fault{Effect: embedded.EffectExpiredIterator}, 12},
	{embedded.Fault{Effect: embedded.EffectReaderLimit}, 6},
}
