package explore

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/dynajournal/dynajournal/embedded"
)

// seedFlag is the name of rapid's flag for its seed.
const seedFlag = "rapid.seed"

// collecting is the garbage collection target: little memory is live.
const collecting = 400

// RunHistories draws histories and runs each in a bubble of its own, until one fails, or until over
// reports that enough time has passed since the start. run returns the error of a history that
// fails. The first seed is rapid's flag, or a random one if the flag is 0. It is printed, because
// with it the same histories are run again. RunHistories returns the last seed.
func RunHistories[H any](
	t *testing.T, over func(start time.Time) bool, draw func(*rapid.T) H, run func(*testing.T, H) error,
) uint64 {
	t.Helper()
	given := flag.Lookup(seedFlag).Value.String()
	seed, err := strconv.ParseUint(given, 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	if seed == 0 {
		seed = rand.Uint64()>>1 | 1
	}
	defer func() { _ = flag.Set(seedFlag, given) }()
	defer debug.SetGCPercent(debug.SetGCPercent(collecting))
	t.Logf("-%s=%d", seedFlag, seed)
	failing := false // then the same history is run again to shrink it, even after the limit
	for start := time.Now(); ; seed++ {
		if err := flag.Set(seedFlag, strconv.FormatUint(seed, 10)); err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(rt *rapid.T) {
			if over(start) && !failing {
				return
			}
			history := draw(rt)
			var wrong error
			synctest.Test(t, func(t *testing.T) { wrong = run(t, history) })
			if wrong != nil {
				failing = true
				rt.Fatalf("%v\n%v", wrong, history)
			}
		})
		if t.Failed() || over(start) {
			return seed
		}
	}
}

// PickRequest picks a random request to be served next, and reports whether it is a late one. It
// does not pick pending requests of stopped processes. It returns nil if there is no request to
// pick.
func PickRequest(n *Network, random *rand.Rand, stopped func(process string) bool) (r *Request, isLate bool) {
	pending := slices.DeleteFunc(n.Pending(), func(r *Request) bool { return stopped(r.Process) })
	if late := n.Late(); len(late) > 0 && (len(pending) == 0 || random.IntN(oneIsLate) == 0) {
		return late[random.IntN(len(late))], true
	}
	if len(pending) == 0 {
		return nil, false
	}
	return pending[random.IntN(len(pending))], false
}

// oneIsLate is how many picks have, on average, one late request.
const oneIsLate = 20

// InjectFault serves a request with a fault of the engine. If the engine performs the request
// later, InjectFault returns that time, and otherwise the zero time.
func InjectFault(n *Network, engine *embedded.Engine, r *Request, f embedded.Fault) (due time.Time, err error) {
	f.Times = 1
	remove, err := engine.Inject(f)
	if err != nil {
		return time.Time{}, err
	}
	defer remove()
	if f.Effect != embedded.EffectSlow && f.Effect != embedded.EffectHang {
		n.Deliver(r)
		return time.Time{}, nil
	}
	n.Submit(r)
	synctest.Wait()
	if f.Effect == embedded.EffectSlow && !f.Applied {
		due = time.Now().Add(f.Delay)
	}
	return due, nil
}

// Roll returns a number from 0 to 999 that is a hash of a seed, a request, and how often it was
// sent.
func Roll(seed uint64, r *Request, sent int) int {
	hash := fnv.New64a()
	fmt.Fprint(hash, seed, r, sent)
	return int(hash.Sum64() >> 8 % 1000) //nolint:mnd // below 1000
}

// PickFault returns the fault in RequestFaults that a roll selects for a request, or nil, and the
// rest of the roll. rates has the number of requests in 1000 that get each fault. A fault that
// lasts longer than the request is skipped unless lasting is set.
func PickFault(roll int, operation string, rates []int, lasting bool) (*embedded.Fault, int) {
	for i := range RequestFaults {
		f := &RequestFaults[i]
		lasts := f.Effect == embedded.EffectSlow || f.Effect == embedded.EffectHang
		if !CanHit(f, operation) || lasts && !lasting {
			continue
		}
		if roll -= rates[i]; roll < 0 {
			return f, roll
		}
	}
	return nil, roll
}
