package entity_test

import (
	"context"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
)

// The events before the older snapshot are deleted, and a newer version of the program has saved
// the newest snapshot. The older version of the program continues from the older snapshot.
func TestOlderSnapshotIsTakenIfTheNewestCanNotBeRead(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	kind := accountType()
	kind.Snapshots = entity.Snapshots{Every: 2, DeleteEvents: true}
	a, saved := saving(b, kind, entity.Options{})
	for range 3 {
		do(t, a, "anna", deposit(1))
		do(t, a, "anna", deposit(1))
		<-saved
	}
	do(t, a, "anna", deposit(1))
	j := b.Journal()
	unreadable := func(number int64) {
		p := serialization.Payload{SerializerID: 4711, Manifest: "new", Bytes: []byte("new")}
		metadata := dynajournal.SnapshotMetadata{PersistenceID: "account|anna", SequenceNumber: number}
		if _, err := j.SaveSnapshot(t.Context(), metadata, p); err != nil {
			t.Fatal(err)
		}
	}
	unreadable(6)
	recovered := make(chan entity.Recovery, 1)
	older := b.open(j, kind, entity.Options{Hooks: []entity.Hook{{OnRecovery: func(_ context.Context, r entity.Recovery) { recovered <- r }}}})
	if got, version := view(t, older, "anna"); got != 7 || version != 7 {
		t.Errorf("the balance is %d at %d, want 7 at 7", got, version)
	}
	if r := <-recovered; r.Snapshot != 4 || r.Events != 3 {
		t.Errorf("%+v, want 3 events after snapshot 4", r)
	}
	unreadable(4)
	_, err := b.open(j, kind, entity.Options{}).View(t.Context(), "anna", func(Account) error { return nil })
	wantError(t, "View", err, serialization.ErrUnknownSerializer)
	for _, named := range []string{"snapshot at 6", "snapshot at 4"} {
		if err != nil && !strings.Contains(err.Error(), named) {
			t.Errorf("%v does not name the %s", err, named)
		}
	}
}
