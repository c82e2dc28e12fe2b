//go:build interop

package interop_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dynajournal/dynajournal"
)

var racesFlag = flag.Int("races", 6, "how many persistence ids a JVM and Go write at the same time")

// A JVM and Go write a persistence id at the same time. The test counts the lost events and the
// findings of verify; docs/jvm.md has the figures of -races 120. No event of the JVM is lost. Each
// lost event of Go was overwritten by an event of the JVM.
func TestWhatVerifySeesOfTwoWritersAtTheSameTime(t *testing.T) {
	s := sharedService(t)
	j := s.open(t)
	damaged, unseen, kinds := 0, 0, map[dynajournal.FindingKind]int{}
	for i := range *racesFlag {
		random := rand.New(rand.NewPCG(*seedFlag, uint64(i)))
		pid := newPID(t)
		lost := s.race(t, j, pid, random)
		found := findings(t, j.Verify(t.Context(), pid, dynajournal.VerifyOptions{}))
		if lost == 0 {
			continue
		}
		if damaged++; len(found) == 0 {
			unseen++
		}
		for _, kind := range found {
			kinds[kind]++
		}
	}
	t.Logf("of %d persistence ids %d have lost events of Go, and verify finds nothing in %d of these; in the others it finds %v",
		*racesFlag, damaged, unseen, kinds)
	for kind := range kinds {
		if kind != dynajournal.FindingIncompleteBatch && kind != dynajournal.FindingForeignWriter {
			t.Errorf("verify finds %s where two writers have been", kind)
		}
	}
}

// race makes Go append while a persistent actor that started before persists. It returns the number
// of lost events of Go.
func (s *service) race(t *testing.T, j *dynajournal.Journal, pid string, random *rand.Rand) int {
	t.Helper()
	s.startJVM(t, pid)
	s.persistJVM(t, pid, false, texts("before", random.IntN(5)+1)...)
	rounds, most := random.IntN(4)+1, 1
	if random.IntN(2) == 0 {
		most = 5 // atomic writes
	}
	type outcome struct {
		acknowledged map[int64]string
		err          error
	}
	done := make(chan outcome)
	sizes := make([]int, rounds)
	for i := range sizes {
		sizes[i] = random.IntN(most) + 1
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		o := outcome{acknowledged: map[int64]string{}}
		for n, size := range sizes {
			values := texts(fmt.Sprintf("go-%d", n), size)
			w, err := j.Recover(ctx, pid, dynajournal.RecoverOptions{}, nil)
			var result dynajournal.AppendResult
			if err == nil {
				result, err = w.Append(ctx, values...)
			}
			switch {
			case errors.Is(err, dynajournal.ErrWriterConflict):
			case err != nil:
				o.err = err
			default:
				for i := range values {
					o.acknowledged[result.First+int64(i)] = values[i].(string)
				}
			}
		}
		done <- o
	}()
	var ofJVM []any
	for n := range random.IntN(4) {
		values := texts(fmt.Sprintf("jvm-%d", n), random.IntN(most)+1)
		s.persistJVM(t, pid, true, values...)
		ofJVM = append(ofJVM, values...)
	}
	o := <-done
	s.stopJVM(t, pid)
	if o.err != nil {
		t.Fatalf("the writer in Go: %v", o.err)
	}
	there := map[string]bool{}
	for _, e := range readGo(t, j, pid, dynajournal.Range{}) {
		there[string(e.event.Value)] = true
	}
	for _, value := range ofJVM {
		if !there[string(typedOf(t, value).Value)] {
			t.Errorf("event %v of the JVM is lost", value)
		}
	}
	lost := 0
	for _, value := range o.acknowledged {
		if !there[string(typedOf(t, value).Value)] {
			lost++
		}
	}
	return lost
}
