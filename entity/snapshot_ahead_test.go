package entity_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
)

// Only the journal table is restored from an older copy. The entity stops, and nothing is written,
// until the operator chooses one of the ways out.
func TestLoad_SnapshotAhead(t *testing.T) {
	t.Parallel()
	for kindOf, options := range map[string]dynajournal.TableOptions{"native": {}, "shared": {SharedWithJVM: true}} {
		for name, way := range map[string]struct {
			out func(*testing.T, *bundle, *accounts)
			// balance is the balance after one more deposit of 1.
			balance int
		}{
			"the journal is lost": {func(t *testing.T, b *bundle, _ *accounts) {
				t.Helper()
				var log bytes.Buffer
				var losses []dynajournal.Loss
				j := b.Journal(func(c *dynajournal.Config) {
					c.Logger = slog.New(slog.NewTextHandler(&log, nil))
					c.Hooks = []dynajournal.Hook{{OnLoss: func(_ context.Context, loss dynajournal.Loss) { losses = append(losses, loss) }}}
				})
				opts := dynajournal.RecoverOptions{Snapshot: 10, JournalLost: true}
				if _, err := j.Recover(t.Context(), "account|anna", opts, nil); err != nil {
					t.Fatal(err)
				}
				want := dynajournal.SnapshotAheadError{PersistenceID: "account|anna", Snapshot: 10, Highest: 3}
				if len(losses) != 1 || losses[0].PersistenceID != "account|anna" {
					t.Fatalf("the hook was called with %+v, want one loss", losses)
				}
				if ahead, ok := errors.AsType[*dynajournal.SnapshotAheadError](losses[0].Err); !ok || *ahead != want {
					t.Errorf("the hook was called with %+v, want %+v", losses[0].Err, want)
				}
				if got := log.String(); !strings.Contains(got, "level=WARN") || !strings.Contains(got, "is at 10, and the journal ends at 3") {
					t.Errorf("logged is %q, want a warning with the loss", got)
				}
			}, 11},
			"the snapshots after the journal are deleted": {func(t *testing.T, b *bundle, _ *accounts) {
				t.Helper()
				loseSnapshots(t, b)
			}, 4},
			"a purge": {func(t *testing.T, _ *bundle, a *accounts) {
				t.Helper()
				if err := a.Purge(t.Context(), "anna"); err != nil {
					t.Fatal(err)
				}
			}, 1},
		} {
			t.Run(kindOf+", "+name, func(t *testing.T) {
				t.Parallel()
				b := setup(t, options)
				kind := accountType()
				kind.Snapshots = entity.Snapshots{Every: 5, Keep: 1}
				a, saved := saving(b, kind, entity.Options{})
				var older []map[string]types.AttributeValue
				for i := range 11 {
					if i == 3 {
						older = journalItems(t, b)
					}
					if do(t, a, "anna", deposit(1)); (i+1)%5 == 0 {
						<-saved
					}
				}
				restoreJournal(t, b, older)
				older = journalItems(t, b)
				other := b.open(b.Journal(), kind, entity.Options{})
				_, err := other.View(t.Context(), "anna", func(Account) error { return nil })
				wantAhead(t, "View", err)
				_, err = entity.Do(t.Context(), other, "anna", deposit(1))
				wantAhead(t, "Do", err)
				if !reflect.DeepEqual(journalItems(t, b), older) {
					t.Error("something was written")
				}
				way.out(t, b, other)
				if got := do(t, other, "anna", deposit(1)); got != way.balance {
					t.Errorf("the balance is %d, want %d", got, way.balance)
				}
			})
		}
	}
}

// Only the journal table is restored, and the program can't decode the snapshots. Without the check
// the entity would start anew, and its numbers would be used again.
func TestLoad_UndecodableSnapshotAhead(t *testing.T) {
	t.Parallel()
	for kindOf, options := range map[string]dynajournal.TableOptions{"native": {}, "shared": {SharedWithJVM: true}} {
		t.Run(kindOf, func(t *testing.T) {
			t.Parallel()
			b := setup(t, options)
			j := b.Journal()
			a := b.open(j, accountType(), entity.Options{})
			for range 3 {
				do(t, a, "anna", deposit(1))
			}
			unknown := serialization.Payload{SerializerID: 4711, Manifest: "old", Bytes: []byte("old")}
			metadata := dynajournal.SnapshotMetadata{PersistenceID: "account|anna", SequenceNumber: 10}
			if _, err := j.SaveSnapshot(t.Context(), metadata, unknown); err != nil {
				t.Fatal(err)
			}
			kind := accountType()
			kind.Snapshots = entity.Snapshots{Every: 100}
			other := b.open(b.Journal(), kind, entity.Options{})
			_, err := other.View(t.Context(), "anna", func(Account) error { return nil })
			wantAhead(t, "View", err)
			_, err = entity.Do(t.Context(), other, "anna", deposit(1))
			wantAhead(t, "Do", err)
			wantError(t, "Do", err, serialization.ErrUnknownSerializer)
			if err := a.Drop(t.Context(), "anna"); err != nil {
				t.Fatal(err)
			}
			if got := do(t, a, "anna", deposit(1)); got != 4 { // its type does not use snapshots
				t.Errorf("the balance is %d, want 4: something was written", got)
			}
		})
	}
}

// Between reading the snapshot and reading the journal, another process purges the entity and
// starts it again. The snapshot only seems to be ahead.
func TestSnapshotOfAPurgedEntityIsNotAhead(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{SharedWithJVM: true})
	kind := accountType()
	kind.Snapshots = entity.Snapshots{Every: 5}
	a, saved := saving(b, kind, entity.Options{})
	for range 5 {
		do(t, a, "anna", deposit(1))
	}
	<-saved
	var loading atomic.Bool
	var requests atomic.Int64
	purge := sync.OnceFunc(func() {
		if err := a.Purge(t.Context(), "anna"); err != nil {
			t.Error(err)
		}
		do(t, a, "anna", deposit(7))
	})
	other := b.open(b.Journal(func(c *dynajournal.Config) {
		inner := c.AWS.HTTPClient
		c.AWS.HTTPClient = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			if loading.Load() && requests.Add(1) > 1 { // the first one has loaded the snapshot
				purge()
			}
			return inner.Do(r)
		})}
	}), kind, entity.Options{})
	loading.Store(true)
	if got := do(t, other, "anna", deposit(1)); got != 8 {
		t.Errorf("the balance is %d, want 8", got)
	}
}

func wantAhead(t *testing.T, what string, err error) {
	t.Helper()
	ahead, ok := errors.AsType[*dynajournal.SnapshotAheadError](err)
	want := dynajournal.SnapshotAheadError{PersistenceID: "account|anna", Snapshot: 10, Highest: 3}
	if !ok || !errors.Is(err, dynajournal.ErrSnapshotAhead) || *ahead != want {
		t.Errorf("%s: error %v, want %+v", what, err, want)
	}
}

// journalItems returns all items of the journal table.
func journalItems(t *testing.T, b *bundle) []map[string]types.AttributeValue {
	t.Helper()
	all, err := dynamodb.NewFromConfig(b.Engine.AWSConfig()).Scan(t.Context(), &dynamodb.ScanInput{
		TableName: aws.String(dynajournal.DefaultJournalTable),
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.Items
}

// restoreJournal replaces all items of the journal table.
func restoreJournal(t *testing.T, b *bundle, items []map[string]types.AttributeValue) {
	t.Helper()
	client, table := dynamodb.NewFromConfig(b.Engine.AWSConfig()), aws.String(dynajournal.DefaultJournalTable)
	for _, item := range journalItems(t, b) {
		key := map[string]types.AttributeValue{"par": item["par"], "num": item["num"]}
		if _, err := client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: table, Key: key}); err != nil {
			t.Fatal(err)
		}
	}
	for _, item := range items {
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: table, Item: item}); err != nil {
			t.Fatal(err)
		}
	}
}
