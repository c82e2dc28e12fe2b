package entity_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// wantDuplicate checks that a repeated command fails with a DuplicateError that has version.
func wantDuplicate(t *testing.T, a entity.Updater[Account, Event], id string, version int64) {
	t.Helper()
	_, err := entity.Do(t.Context(), a, "anna", deposit(1), entity.CommandID(id))
	var duplicate *entity.DuplicateError
	if !errors.As(err, &duplicate) || duplicate.Version != version || duplicate.CommandID != id {
		t.Errorf("command %q: %v, want a duplicate with version %d", id, err, version)
	}
	wantError(t, "Do", err, entity.ErrDuplicate)
}

func TestCommandIsDoneOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	one, other := b.accounts(), b.accounts()
	three := func(tx *accountTx) (int, error) {
		tx.Record(Deposited{1}, Deposited{1}, Deposited{1})
		return tx.State().Balance, nil
	}
	do(t, one, "anna", three, entity.CommandID("c-1"))
	do(t, other, "anna", deposit(1), entity.CommandID("c-2"))
	if _, err := entity.Do(t.Context(), one, "anna", withdraw(100), entity.CommandID("c-3")); err == nil {
		t.Error("the withdrawal is done")
	}
	for name, a := range map[string]*accounts{"the first": one, "the other": other, "a third": b.accounts()} {
		t.Run(name, func(t *testing.T) {
			wantDuplicate(t, a, "c-1", 3)
			wantDuplicate(t, a, "c-2", 4)
			if got, _ := view(t, a, "anna"); got != 4 {
				t.Errorf("the balance is %d, want 4", got)
			}
		})
	}
	do(t, one, "anna", deposit(1), entity.CommandID("c-3")) // the first run recorded nothing
}

// A repeat that arrives while the first command is in progress waits for it.
func TestRepeatWaitsForTheFirst(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, dynajournal.TableOptions{}, accountType(), nil)
	p.block()
	p.start("first", deposit(1), entity.CommandID("c-1"))
	p.send("repeat", deposit(1), entity.CommandID("c-1"))
	p.arrived(3)
	p.wantNone()
	p.release()
	p.want(answer{"held", 100, nil}, answer{"first", 101, nil}, answer{"repeat", 0, entity.ErrDuplicate})
}

// Snapshots contain the ids of commands whose events are deleted.
func TestSnapshotsKeepCommandIDs(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	kind := accountType()
	kind.Snapshots = entity.Snapshots{Every: 2, Keep: 1, DeleteEvents: true}
	saved := make(chan entity.Snapshot, 10)
	a := b.open(b.Journal(), kind, entity.Options{Hooks: []entity.Hook{{OnSnapshot: func(_ context.Context, s entity.Snapshot) { saved <- s }}}})
	for i := range 4 {
		do(t, a, "anna", deposit(1), entity.CommandID(fmt.Sprint("c-", i)))
		if i%2 == 1 {
			if s := <-saved; s.Err != nil || s.Version != int64(i+1) {
				t.Fatalf("%+v", s)
			}
		}
	}
	for e := range b.Journal().Events(t.Context(), "account|anna", dynajournal.Range{}) {
		t.Errorf("event %d is left", e.SequenceNumber)
	}
	other := b.open(b.Journal(), kind, entity.Options{})
	for i := range 4 {
		wantDuplicate(t, other, fmt.Sprint("c-", i), int64(i+1))
	}
	if got, _ := view(t, other, "anna"); got != 4 {
		t.Errorf("the balance is %d, want 4", got)
	}
}

func TestCommandIDsAreForgotten(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	limits := entity.CommandIDs{Last: 2, Period: time.Nanosecond, Most: 3}
	a := b.open(b.Journal(), accountType(), entity.Options{CommandIDs: limits})
	for i := range 4 {
		do(t, a, "anna", deposit(1), entity.CommandID(fmt.Sprint("c-", i)))
	}
	wantDuplicate(t, a, "c-2", 3)
	wantDuplicate(t, a, "c-3", 4)
	do(t, a, "anna", deposit(1), entity.CommandID("c-0"))
}
