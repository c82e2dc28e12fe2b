package process_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/internal/testseed"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

var seed = testseed.Flag("process.seed")

// Three processes run commands in reaction to events, while requests and responses are lost, and
// processes are killed at any of their writes. Each command has its effect once, and the commands
// of a source have their effects in the order of its events.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	t.Logf("to repeat: -process.seed=%d", *seed)
	for history := range testsize.Of(2, 20) {
		t.Run(fmt.Sprint(history), func(t *testing.T) {
			t.Parallel()
			randomHistory(t, rand.New(rand.NewPCG(*seed, uint64(history))))
		})
	}
}

func randomHistory(t *testing.T, random *rand.Rand) {
	t.Helper()
	b := setup(t)
	places := []string{"one", "two"}
	launch := func() (end func()) {
		j, m := b.process()
		in := b.open(j, entity.Options{})
		m.dieAfter(random.IntN(40), random.IntN(2) == 0)
		m.mu.Lock()
		m.faults = rand.New(rand.NewPCG(random.Uint64(), 0))
		m.mu.Unlock()
		stop := b.run(j, b.asking(in))
		return func() { m.kill(); stop() }
	}
	ends := []func(){launch(), launch(), launch()}
	sources := []string{"a", "b", "c"}
	numbers := make([]int64, len(sources))
	const rounds = 4
	for round := range rounds {
		var writing sync.WaitGroup
		for i, source := range sources {
			writing.Go(func() {
				for n := range 3 {
					numbers[i] = b.ask(source, Asked{fmt.Sprintf("%s%d", source, 3*round+n), places})
				}
			})
		}
		writing.Wait()
		i := random.IntN(len(ends))
		ends[i]()
		ends[i] = launch()
	}
	for _, end := range ends {
		end()
	}
	in := b.open(b.Journal.Journal, entity.Options{})
	b.run(b.Journal.Journal, b.asking(in))
	for i, source := range sources {
		if err := b.await(source, numbers[i]); err != nil {
			t.Fatal(err)
		}
	}
	for _, place := range places {
		_, err := in.View(t.Context(), place, func(now Box) error {
			for _, source := range sources {
				var got, want []string
				for n := range 3 * rounds {
					want = append(want, fmt.Sprint(source, n))
				}
				for _, done := range now.Done {
					if done[:1] == source {
						got = append(got, done)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s has done %q, want %q", place, got, want)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
