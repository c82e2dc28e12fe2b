package simulate_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/explore"
)

// finish completes everything without further faults, and checks the final state.
func (g *simulation) finish() {
	g.fair = true
	if len(g.unlag) > 0 {
		g.lag(0)
	}
	for _, a := range g.actors {
		a.paused = false
		if a.machine.Sleeps() {
			g.sleepOrWake(a)
		}
		a.machine.Correct()
	}
	for !g.quiet() {
		if !g.step() {
			g.sleep(time.Second)
		}
	}
	for len(g.net.Late()) > 0 {
		g.step()
	}
	for e := range entities {
		g.check()
		if g.wrong != nil {
			return
		}
		g.compare(e)
		g.copies.finish(e)
		g.check()
		g.serving("auditor", func() error { return g.goOn(e) })
		g.check()
		g.compare(e)
		// Members of a dead atomic write can exist in a partition that is reached only now that the
		// previous one is full, and a repair makes members visible that exist far beyond the end:
		// the next recovery closes the numbers in between, and so on.
		last := &actor{name: fmt.Sprint("repair", e), journal: g.auditor}
		for range 2 {
			g.serving("auditor", func() error { return g.recover(g.Context(), last, e, dynajournal.RecoverOptions{}, nil) })
			g.serving("auditor", func() error { return g.verify(g.Context(), g.auditor, e, repairWithAll, nil) })
		}
		g.check()
		g.compare(e)
		g.sound(e)
		if err := g.cells[e].linearizable(); err != nil {
			g.fail(fmt.Errorf("%s: %w", pid(e), err))
		}
	}
	g.wantStored()
	g.wantNothingLeft()
}

// wantNothingLeft purges the entities: after the fence window nothing of them may be stored but, in
// a native journal, their marks.
func (g *simulation) wantNothingLeft() {
	for e := range entities {
		if g.wrong != nil {
			return
		}
		g.serving("auditor", func() error {
			w, err := g.auditor.Recover(g.Context(), pid(e), dynajournal.RecoverOptions{}, nil)
			if err == nil {
				_, err = w.Purge(g.Context(), dynajournal.PurgeOptions{})
			}
			return err
		})
	}
	g.skip(2 * fenceWindow)
	if _, err := g.engine.SweepExpired(); err != nil {
		g.Fatal(err)
	}
	for _, row := range append(g.scan(journalTable), g.scan(snapshotTable)...) {
		for e := range entities {
			mark := bytes.Contains(row, fmt.Appendf(nil, "-SL-%s", pid(e))) || bytes.Contains(row, fmt.Appendf(nil, "-SH-%s", pid(e)))
			if bytes.Contains(row, fmt.Appendf(nil, "-%s", pid(e))) && (g.shared || !mark) {
				g.fail(fmt.Errorf("after a purge and the fence window %s of %s is left", row, pid(e)))
			}
		}
	}
}

func (g *simulation) quiet() bool {
	g.settle()
	return len(g.inside) == 0 && !slices.ContainsFunc(g.actors, func(a *actor) bool { return !a.idle() })
}

// sound verifies an entity after a recovery and a repair: the only findings left are high marks
// that were put for events that failed.
func (g *simulation) sound(entity int) {
	g.fail(g.verify(g.Context(), g.auditor, entity, verifyEntity, func(f dynajournal.Finding) {
		if f.Kind != dynajournal.FindingMarkBeyondEvents {
			g.fail(fmt.Errorf("after a recovery and a repair verify finds %s of %s at %d: %s",
				f.Kind, f.PersistenceID, f.SequenceNumber, f.Detail))
		}
	}))
}

// compare compares what a reader receives with what must be visible.
func (g *simulation) compare(entity int) {
	want := g.ledgers[entity].Visible()
	var got []explore.Event
	for e, err := range g.auditor.Events(g.Context(), pid(entity), dynajournal.Range{}) {
		if err != nil {
			g.fail(err)
			return
		}
		got = append(got, explore.Event{Number: e.SequenceNumber, Text: string(e.Bytes)})
	}
	if !slices.Equal(got, want) {
		g.fail(fmt.Errorf("%s: at the end there are %v, but readers receive %v", pid(entity), want, got))
	}
	if _, _, err := g.load(g.Context(), g.auditor, entity, math.MaxInt64); err != nil {
		g.fail(err)
	}
	if !g.ledgers[entity].Listed() {
		return
	}
	for _, scan := range []bool{false, true} {
		listed := 0
		for id, err := range g.auditor.CurrentPersistenceIDs(g.Context(), dynajournal.IDsOptions{Scan: scan}) {
			if err != nil {
				g.fail(err)
			}
			if id == pid(entity) {
				listed++
			}
		}
		if listed != 1 {
			g.fail(fmt.Errorf("%s has %d events, and is listed %d times (by scan: %v)",
				pid(entity), len(want), listed, scan))
		}
	}
}

// goOn recovers and writes, until a writer is not disturbed by late requests.
func (g *simulation) goOn(entity int) error {
	const enough = 10
	a := &actor{name: fmt.Sprint("last", entity), journal: g.auditor}
	var err error
	for range enough {
		if err = g.recover(g.Context(), a, entity, dynajournal.RecoverOptions{}, nil); err == nil {
			err = g.append(g.Context(), a, 1)
		}
		if !errors.Is(err, dynajournal.ErrWriterConflict) && !errors.Is(err, dynajournal.ErrDeletedMeanwhile) {
			return err
		}
	}
	return err
}
