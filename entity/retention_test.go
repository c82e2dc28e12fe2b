package entity_test

import (
	"slices"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// deposits is a command with n deposits of 1.
func deposits(n int) func(*accountTx) (int, error) {
	return func(tx *accountTx) (int, error) {
		tx.Record(slices.Repeat([]Event{Deposited{1}}, n)...)
		return tx.State().Balance, nil
	}
}

// SnapshotWhen asks for a snapshot after an event in the middle of a command. The snapshot is taken
// after the last event.
func TestSnapshotWhenSeesEveryEventOfACommand(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	kind := accountType()
	kind.SnapshotWhen = func(a Account, _ Event, version int64) bool { return a.Balance == 2 && version == 2 }
	a, saved := saving(b, kind, entity.Options{})
	do(t, a, "anna", deposits(3))
	if s := <-saved; s.Version != 3 || s.Err != nil {
		t.Errorf("%+v, want version 3", s)
	}
	s, ok, err := b.Journal().LoadSnapshot(t.Context(), "account|anna", dynajournal.SnapshotCriteria{})
	if state, decoding := dynajournal.DecodeState[Account](t.Context(), s); err != nil || !ok || decoding != nil || state.Balance != 3 {
		t.Errorf("the snapshot is %+v, %v, %v; want a balance of 3", state, err, decoding)
	}
}

// One command has more events than Snapshots.Every, and another one has fewer.
func TestSnapshot_AfterLastEventOfCommand(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	kind := accountType()
	kind.Snapshots = entity.Snapshots{Every: 2}
	a, saved := saving(b, kind, entity.Options{})
	for _, c := range []struct {
		events  int
		version int64
	}{{5, 5}, {3, 8}} {
		do(t, a, "anna", deposits(c.events))
		if s := <-saved; s.Version != c.version {
			t.Errorf("%+v, want version %d", s, c.version)
		}
	}
}

// The type had no snapshots before. A view writes nothing. A command saves the missing snapshot.
func TestMissingSnapshotIsSavedWhenAnEntityIsLoadedForACommand(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	do(t, b.accounts(), "anna", deposits(5))
	kind := accountType()
	kind.Snapshots = entity.Snapshots{Every: 5}
	ended := func(load func(*accounts)) (saved int64) {
		a := b.open(b.Journal(), kind, entity.Options{})
		load(a)
		if err := a.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		return a.Stats().Snapshots
	}
	if saved := ended(func(a *accounts) { view(t, a, "anna") }); saved != 0 {
		t.Errorf("a view has saved %d snapshots", saved)
	}
	ask := func(a *accounts) { do(t, a, "anna", balance) }
	if saved := ended(ask); saved != 1 {
		t.Errorf("a command has saved %d snapshots, want 1", saved)
	}
	if got := snapshots(t, b.Journal()); !slices.Equal(got, []int64{5}) {
		t.Errorf("the snapshots are %v, want 5", got)
	}
	if saved := ended(ask); saved != 0 {
		t.Errorf("another command has saved %d snapshots", saved)
	}
}

func TestHooksSeeWhatASnapshotDeletes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings  entity.Snapshots
		commands  int
		want      []entity.Snapshot // without the durations
		snapshots []int64
		lowest    int64
	}{
		"snapshots": {
			entity.Snapshots{Every: 3}, 13,
			[]entity.Snapshot{{Version: 3}, {Version: 6}, {Version: 9, DeletedSnapshots: 1}, {Version: 12, DeletedSnapshots: 1}},
			[]int64{12, 9}, 0, // nothing is deleted
		},
		"events, too": {
			entity.Snapshots{Every: 3, DeleteEvents: true}, 10,
			[]entity.Snapshot{{Version: 3}, {Version: 6, DeletedTo: 3}, {Version: 9, DeletedSnapshots: 1, DeletedTo: 6}},
			[]int64{9, 6}, 7,
		},
		"with one snapshot": {
			entity.Snapshots{Every: 3, Keep: 1, DeleteEvents: true}, 7,
			[]entity.Snapshot{{Version: 3, DeletedTo: 3}, {Version: 6, DeletedSnapshots: 1, DeletedTo: 6}},
			[]int64{6}, 7,
		},
		"after each event": {
			entity.Snapshots{Every: 1, Keep: 3, DeleteEvents: true}, 5,
			[]entity.Snapshot{
				{Version: 1}, {Version: 2}, {Version: 3, DeletedTo: 1},
				{Version: 4, DeletedSnapshots: 1, DeletedTo: 2}, {Version: 5, DeletedSnapshots: 1, DeletedTo: 3},
			},
			[]int64{5, 4, 3}, 4,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, dynajournal.TableOptions{})
			kind := accountType()
			kind.Snapshots = c.settings
			a, saved := saving(b, kind, entity.Options{})
			for i := range c.commands {
				do(t, a, "anna", deposit(1))
				if int64(i+1)%c.settings.Every != 0 {
					continue
				}
				got, want := <-saved, c.want[(i+1)/int(c.settings.Every)-1]
				want.Type, want.PersistenceID, want.Duration = "account", "account|anna", got.Duration
				if got != want {
					t.Errorf("a hook got %+v, want %+v", got, want)
				}
			}
			if got := snapshots(t, b.Journal()); !slices.Equal(got, c.snapshots) {
				t.Errorf("the snapshots are %v, want %v", got, c.snapshots)
			}
			if bounds, err := b.Journal().Bounds(t.Context(), "account|anna"); err != nil || bounds.Lowest != c.lowest {
				t.Errorf("bounds %+v, %v; want %d to be the lowest", bounds, err, c.lowest)
			}
			if got, version := view(t, b.open(b.Journal(), kind, entity.Options{}), "anna"); got != c.commands || version != int64(c.commands) {
				t.Errorf("the balance is %d at %d, want %d", got, version, c.commands)
			}
		})
	}
}

// The next snapshot is due Snapshots.Every events after the last one, regardless of the reason for
// the last one.
func TestSnapshotsEvery_CountsFromLastSnapshot(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	kind := accountType()
	kind.Snapshots = entity.Snapshots{Every: 5, Keep: 1}
	kind.SnapshotWhen = func(_ Account, _ Event, version int64) bool { return version == 3 }
	a, saved := saving(b, kind, entity.Options{})
	for i := range int64(13) {
		do(t, a, "anna", deposit(1))
		if n := i + 1; n == 3 || n == 8 || n == 13 {
			if s := <-saved; s.Version != n {
				t.Errorf("%+v, want version %d", s, n)
			}
		}
	}
	if got := snapshots(t, b.Journal()); !slices.Equal(got, []int64{13}) {
		t.Errorf("the snapshots are %v, want 13", got)
	}
}
