//go:build interop

package interop_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/dynajournal/dynajournal"
)

// conflictAt checks that an append conflicted with another writer's event.
func conflictAt(tb testing.TB, err error, seq int64, writer string) {
	tb.Helper()
	var conflict *dynajournal.ConflictError
	if !errors.As(err, &conflict) || conflict.SequenceNumber != seq || conflict.WriterUUID != writer {
		tb.Errorf("the append ends with %v, want a conflict at %d with writer %s", err, seq, writer)
	}
}

func TestGoNeverOverwritesAJVMsEvent(t *testing.T) {
	s := sharedService(t)
	j := s.open(t)
	for name, events := range map[string][]any{"a single event": {"go"}, "an atomic write": {"go-1", "go-2", "go-3"}} {
		t.Run(name, func(t *testing.T) {
			pid := newPID(t)
			inGo := recoverGo(t, j, pid, 0)
			inGo.appendAll(t, false, "first")
			s.writeJVM(t, pid, false, "jvm")
			_, err := inGo.Append(t.Context(), events...)
			conflictAt(t, err, 2, s.replayJVM(t, pid).Events[1].Writer)
			want := numbered(t, 1, "first", "jvm")
			again := recoverGo(t, j, pid, 0)
			checkSeen(t, "Go, recovering,", again.events, want)
			checkSeen(t, "the JVM", seenJVM(s.replayJVM(t, pid)), want)
			again.appendAll(t, true, events...)
		})
	}
}

func TestAJVMOverwritesGosEventsUnseen(t *testing.T) {
	s := sharedService(t)
	j := s.open(t)

	t.Run("a single event", func(t *testing.T) {
		pid := newPID(t)
		s.startJVM(t, pid)
		s.persistJVM(t, pid, false, "jvm-1")
		inGo := recoverGo(t, j, pid, 0)
		inGo.appendAll(t, false, "go-2", "go-3")
		s.persistJVM(t, pid, false, "jvm-2") // acknowledged, like Go's event
		s.stopJVM(t, pid)
		checkSeen(t, "Go", readGo(t, j, pid, dynajournal.Range{}), numbered(t, 1, "jvm-1", "jvm-2", "go-3"))
		inGo.appendAll(t, false, "go-4") // this writer does not notice the conflict
	})
	t.Run("an atomic write is lost with one of its members", func(t *testing.T) {
		pid := newPID(t)
		s.startJVM(t, pid)
		inGo := recoverGo(t, j, pid, 0)
		inGo.appendAll(t, true, "go-1", "go-2", "go-3")
		s.persistJVM(t, pid, false, "jvm-1")
		s.stopJVM(t, pid)
		checkSeen(t, "Go", readGo(t, j, pid, dynajournal.Range{}), numbered(t, 1, "jvm-1"))
	})
}

func TestDeletionDoesNotFenceAcrossTheSides(t *testing.T) {
	s := sharedService(t)
	j := s.open(t)

	t.Run("a JVM leaves no tombstones that would stop a writer in Go", func(t *testing.T) {
		pid := newPID(t)
		inGo := recoverGo(t, j, pid, 0)
		s.startJVM(t, pid)
		s.persistJVM(t, pid, false, "jvm-1", "jvm-2")
		s.jvm.do(t, request{Op: "deleteTo", PID: pid, To: new(int64(2))})
		s.stopJVM(t, pid)
		inGo.appendAll(t, false, "acknowledged, and below the low mark")
		checkSeen(t, "Go", readGo(t, j, pid, dynajournal.Range{}), nil)
	})
	t.Run("a JVM writes over Go's tombstones", func(t *testing.T) {
		pid := newPID(t)
		s.startJVM(t, pid)
		inGo := recoverGo(t, j, pid, 0)
		inGo.appendAll(t, false, "go-1", "go-2")
		if _, err := inGo.DeleteTo(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		s.persistJVM(t, pid, false, "acknowledged, and below the low mark")
		s.stopJVM(t, pid)
		checkSeen(t, "Go", readGo(t, j, pid, dynajournal.Range{}), nil)
		// Its own low mark is at the beginning of the block.
		want := numbered(t, 1, "acknowledged, and below the low mark")
		checkSeen(t, "the JVM", seenJVM(s.replayJVM(t, pid)), want)
	})
	t.Run("Go's tombstones stop a writer in Go", func(t *testing.T) {
		pid := newPID(t)
		stale := recoverGo(t, j, pid, 0)
		s.writeJVM(t, pid, false, "jvm-1", "jvm-2")
		if _, err := recoverGo(t, j, pid, 0).DeleteTo(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		_, err := stale.Append(t.Context(), "late")
		conflictAt(t, err, 1, "")
	})
}

// While both sides write at the same time, every event of the JVM stays, because Go writes only
// where nothing is stored.
func TestEventsOfAJVMAreKeptByAWriterInGo(t *testing.T) {
	s := sharedService(t)
	j, pid := s.open(t), newPID(t)
	s.startJVM(t, pid)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	type outcome struct {
		acknowledged map[int64]string
		conflicts    int
		err          error
	}
	done := make(chan outcome)
	go func() {
		o := outcome{acknowledged: map[int64]string{}}
		for n := 1; ctx.Err() == nil && o.err == nil; n++ {
			w, err := j.Recover(ctx, pid, dynajournal.RecoverOptions{}, nil)
			var result dynajournal.AppendResult
			if err == nil { // an append in flight when the JVM has ended is completed
				result, err = w.Append(context.WithoutCancel(ctx), fmt.Sprintf("go-%d", n))
			}
			switch {
			case err == nil:
				o.acknowledged[result.First] = fmt.Sprintf("go-%d", n)
			case errors.Is(err, dynajournal.ErrWriterConflict):
				o.conflicts++
			case ctx.Err() == nil:
				o.err = err
			}
		}
		done <- o
	}()
	const writes, each = 20, 25
	const events = writes * each
	all := texts("jvm", events)
	for i := range writes {
		s.persistJVM(t, pid, true, all[i*each:(i+1)*each]...)
	}
	stop()
	o := <-done
	s.stopJVM(t, pid)
	if o.err != nil {
		t.Fatalf("the writer in Go: %v", o.err)
	}
	want := numbered(t, 1, all...)
	overwritten := 0
	for seq := range o.acknowledged {
		if seq <= events {
			overwritten++
		}
	}
	for seq := int64(events) + 1; o.acknowledged[seq] != ""; seq++ {
		want = append(want, numbered(t, seq, o.acknowledged[seq])...)
	}
	t.Logf("Go wrote %d events and met %d conflicts; the JVM overwrote %d of them",
		len(o.acknowledged), o.conflicts, overwritten)
	checkSeen(t, "Go", readGo(t, j, pid, dynajournal.Range{}), want)
}
