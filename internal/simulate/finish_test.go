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
		// Members of a dead atomic write can exist in a partition that is read only now, because
		// the previous one is full. A repair can also make members visible far beyond the end: the
		// next recovery closes the numbers between them, and so on.
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

// wantNothingLeft purges the entities. After the fence window no item of them may be stored, except
// for their marks in a native journal.
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
	g.catchUp()
	return len(g.inside) == 0 && !slices.ContainsFunc(g.actors, func(a *actor) bool { return !a.idle() })
}

// sound verifies an entity after a recovery and a repair: the only possible findings are high marks
// that were put for failed events.
func (g *simulation) sound(entity int) {
	g.fail(g.verify(g.Context(), g.auditor, entity, verifyEntity, func(f dynajournal.Finding) {
		if f.Kind != dynajournal.FindingMarkBeyondEvents {
			g.fail(fmt.Errorf("after a recovery and a repair verify finds %s of %s at %d: %s",
				f.Kind, f.PersistenceID, f.SequenceNumber, f.Detail))
		}
	}))
}

// compare compares the events that a reader receives with the events that must be visible.
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

// goOn recovers and writes, until late requests no longer disturb the writer.
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
