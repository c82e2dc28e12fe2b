package entity_test

import (
	"context"
	"errors"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// A part of an atomic write is stored, and the rest arrives after the command was decided again and
// has returned another result. The rest must not complete the write.
func TestLostWrite_PartArrivesLate(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, dynajournal.TableOptions{}, accountType(), nil)
	do(t, p.hosted, "anna", deposit(50))
	var late sender
	// 26 events are a request of 25, and one of a single event.
	sendLarge := func(r *httpRequest, send sender) (*httpResponse, error) {
		if r.ContentLength > 3000 {
			return send() //nolint:bodyclose // the journal closes it
		}
		late = detached(r, p.gate.inner)
		return nil, errLost
	}
	p.gate.at(func(r *httpRequest, send sender) (*httpResponse, error) {
		p.gate.at(sendLarge)
		return sendLarge(r, send)
	})
	runs := 0
	_, err := entity.Do(t.Context(), p.hosted, "anna", func(tx *accountTx) (int, error) {
		if runs++; runs > 1 {
			return tx.State().Balance, errInsufficient // the rule has changed meanwhile
		}
		for range 26 {
			tx.Record(Withdrawn{1})
		}
		return tx.State().Balance, nil
	})
	if wantError(t, "Do", err, errInsufficient); runs != 2 || late == nil {
		t.Fatalf("%d runs, want 2", runs)
	}
	response, err := late()
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if got := do(t, p.hosted, "anna", balance, entity.Fresh()); got != 50 {
		t.Errorf("the balance is %d, want 50: the late part counts", got)
	}
}

// The repeat of a command that another process has done is a duplicate, even if the repeat would
// record nothing.
func TestRepeatInAnotherProcessIsADuplicate(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	one, other := b.accounts(), b.accounts()
	do(t, one, "anna", deposit(50))
	do(t, other, "anna", balance)
	do(t, one, "anna", withdraw(50), entity.CommandID("c-1"))
	refuse := func(*accountTx) (int, error) { return 0, errInsufficient }
	_, err := entity.Do(t.Context(), other, "anna", refuse, entity.CommandID("c-1"))
	wantError(t, "the repeat", err, entity.ErrDuplicate)
	_, err = entity.Do(t.Context(), other, "anna", refuse, entity.CommandID("c-2"))
	wantError(t, "another command", err, errInsufficient)
}

// A snapshot is not fenced: a snapshot that is saved after a purge must not bring the state back.
func TestSnapshot_CopiedAfterPurge(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	kind := accountType()
	kind.Snapshots = entity.Snapshots{Every: 1}
	a, saved := saving(b, kind, entity.Options{})
	do(t, a, "anna", deposit(50))
	<-saved
	j := b.Journal()
	s, ok, err := j.LoadSnapshot(t.Context(), "account|anna", dynajournal.SnapshotCriteria{})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if err := a.Purge(t.Context(), "anna"); err != nil {
		t.Fatal(err)
	}
	if _, err := j.CopySnapshot(t.Context(), s); err != nil { // saved late, by a dead process
		t.Fatal(err)
	}
	other := b.open(b.Journal(), kind, entity.Options{})
	if got, _ := view(t, other, "anna"); got != 0 {
		t.Errorf("the balance is %d again, want 0", got)
	}
	if got := do(t, other, "anna", deposit(7)); got != 7 {
		t.Errorf("the balance is %d, want 7", got)
	}
}

// While a write is lost, another process executes the same command on another state, and deletes
// all events. The command is then a duplicate, and has no result of its own.
func TestLostWrite_RepeatedByAnotherProcess(t *testing.T) {
	t.Parallel()
	kind := accountType()
	kind.Snapshots = entity.Snapshots{Every: 1, Keep: 1, DeleteEvents: true}
	p := newPipeline(t, dynajournal.TableOptions{}, kind, nil)
	do(t, p.hosted, "anna", deposit(50))
	saved := make(chan entity.Snapshot, 10)
	other, err := entity.Open(p.journal, kind, entity.Options{Hooks: []entity.Hook{{
		OnSnapshot: func(_ context.Context, s entity.Snapshot) { saved <- s },
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close(context.Background()) })
	p.gate.at(func(*httpRequest, sender) (*httpResponse, error) {
		do(t, other, "anna", deposit(100))
		<-saved
		if got := do(t, other, "anna", withdraw(30), entity.CommandID("c-1")); got != 120 {
			t.Errorf("the other has %d, want 120", got)
		}
		<-saved
		return nil, errLost
	})
	_, err = entity.Do(t.Context(), p.hosted, "anna", withdraw(30), entity.CommandID("c-1"))
	var duplicate *entity.DuplicateError
	if !errors.As(err, &duplicate) || duplicate.Version != 3 {
		t.Errorf("Do: %v, want a duplicate with version 3", err)
	}
}
