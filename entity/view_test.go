package entity_test

import (
	"errors"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
)

// A view never shows events that are still being written.
func TestViewShowsDurableStateOnly(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, dynajournal.TableOptions{}, accountType(), nil)
	do(t, p.hosted, "anna", deposit(1))
	p.block()
	p.start("behind", deposit(10))
	if got, version := view(t, p.hosted, "anna", entity.InMemory); got != 1 || version != 1 {
		t.Errorf("it shows %d at %d while writes are under way, want 1 at 1", got, version)
	}
	if got, _ := view(t, p.hosted, "anna", entity.MaxAge(time.Hour)); got != 1 {
		t.Errorf("it shows %d while writes are under way, want 1", got)
	}
	p.release()
	p.want(answer{"held", 101, nil}, answer{"behind", 111, nil})
	if got, version := view(t, p.hosted, "anna", entity.InMemory); got != 111 || version != 3 {
		t.Errorf("it shows %d at %d, want 111 at 3", got, version)
	}
}

func TestViewFindsWhatOthersHaveWritten(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	a, other := b.accounts(), b.accounts()
	do(t, a, "anna", deposit(1))
	do(t, other, "anna", deposit(1))
	for name, c := range map[string]struct {
		opts []entity.ViewOption
		want int
	}{
		"in memory":          {[]entity.ViewOption{entity.InMemory}, 1},
		"of the last hour":   {[]entity.ViewOption{entity.MaxAge(time.Hour)}, 1},
		"of the last moment": {[]entity.ViewOption{entity.MaxAge(1)}, 2},
	} {
		if got, _ := view(t, a, "anna", c.opts...); got != c.want && name != "in memory" && name != "of the last hour" {
			t.Errorf("%s: it shows %d, want %d", name, got, c.want)
		}
	}
	if got, _ := view(t, a, "anna"); got != 2 {
		t.Errorf("it shows %d, want 2", got)
	}
	do(t, other, "anna", deposit(1))
	if got := do(t, a, "anna", balance); got != 2 {
		t.Errorf("a command without events reads %d, want 2 from memory", got)
	}
	if got := do(t, a, "anna", balance, entity.Fresh()); got != 3 {
		t.Errorf("a fresh command reads %d, want 3", got)
	}
}

// Read permissions are enough for a view: it sends no request that writes, and seals nothing.
func TestViewWritesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	do(t, b.accounts(), "anna", deposit(5))
	for _, operation := range []string{"Put*", "*Write*", "Update*", "Delete*", "*Statement*"} {
		if _, err := b.Engine.Inject(embedded.Fault{Effect: embedded.EffectExpiredToken, Operation: operation}); err != nil {
			t.Fatal(err)
		}
	}
	a := b.accounts()
	for _, id := range []string{"anna", "nobody"} {
		for range 3 {
			if _, err := a.View(t.Context(), id, func(Account) error { return nil }); err != nil {
				t.Errorf("View of %q: %v", id, err)
			}
		}
	}
}

// A view of an entity that no process writes to costs one request and one read unit.
func TestCostOfAView(t *testing.T) {
	t.Parallel()
	var spent costs
	b := setup(t, dynajournal.TableOptions{}, spent.install)
	a := b.accounts()
	do(t, a, "anna", deposit(5))
	for name, c := range map[string]struct {
		opts []entity.ViewOption
		want dynajournal.Cost
	}{
		"by default":       {nil, dynajournal.Cost{Requests: 1, ReadUnits: 1}},
		"in memory":        {[]entity.ViewOption{entity.InMemory}, dynajournal.Cost{}},
		"of the last hour": {[]entity.ViewOption{entity.MaxAge(time.Hour)}, dynajournal.Cost{}},
	} {
		spent.take()
		view(t, a, "anna", c.opts...)
		if cost := spent.take(); cost.Requests != c.want.Requests || cost.ReadUnits != c.want.ReadUnits || cost.WriteUnits != 0 {
			t.Errorf("%s: %+v, want %+v", name, cost, c.want)
		}
	}
}

// A form shows the version that View returns, which is 0 after a purge. Another process then runs a
// command with At and this version.
func TestView_VersionAfterPurge(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	a, loaded := b.accounts(), b.accounts()
	do(t, a, "anna", deposit(10))
	view(t, loaded, "anna")
	if err := a.Purge(t.Context(), "anna"); err != nil {
		t.Fatal(err)
	}
	for name, viewer := range map[string]*accounts{"that knows the entity": loaded, "that does not": b.accounts()} {
		receipt, err := b.accounts().Update(t.Context(), "anna", func(*accountTx) error { return nil })
		if _, shown := view(t, viewer, "anna"); err != nil || shown != receipt.Version || shown != 0 {
			t.Errorf("a process %s: View shows version %d, a command %d: %v", name, shown, receipt.Version, err)
		}
	}
	_, shown := view(t, b.accounts(), "anna")
	if got := do(t, b.accounts(), "anna", deposit(1), entity.At(shown)); got != 1 {
		t.Errorf("the balance is %d, want 1", got)
	}
}

// Before a command is refused because its version is not reached yet, the process checks for events
// of other processes.
func TestAt_VersionOfAnotherProcess(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	a, other := b.accounts(), b.accounts()
	do(t, a, "anna", deposit(1))
	do(t, other, "anna", deposit(1))
	if got := do(t, a, "anna", deposit(1), entity.At(2)); got != 3 {
		t.Errorf("the balance is %d, want 3", got)
	}
	_, err := entity.Do(t.Context(), a, "anna", deposit(1), entity.At(4))
	var version *dynajournal.VersionError
	if !errors.As(err, &version) || version.Expected != 4 || version.Last != 3 {
		t.Errorf("Do: %v, want version 3", err)
	}
}
