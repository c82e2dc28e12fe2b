package payloads_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/internal/enginetest"
	"github.com/dynajournal/dynajournal/payloads"
	"github.com/dynajournal/dynajournal/serialization"
)

// bundle is a journal with a store, in an engine in memory.
type bundle struct {
	*enginetest.Bundle

	journal *dynajournal.Journal
	store   *payloads.Memory
}

// setup opens a journal that puts payloads of more than 1,000 bytes in a store.
func setup(t testing.TB, change ...func(*dynajournal.Config)) *bundle {
	t.Helper()
	b := &bundle{store: &payloads.Memory{}}
	b.Bundle = enginetest.Open(t, enginetest.Options{Config: func(c *dynajournal.Config) {
		c.Retries = -1
		c.Serialization = serialization.NewRegistry(serialization.External(b.store, 1000))
		for _, f := range change {
			f(c)
		}
	}})
	b.journal = b.Journal()
	return b
}

func (b *bundle) recover(pid string) *dynajournal.Writer { return b.Recover(b.journal, pid) }

// append appends events as one atomic write.
func (b *bundle) append(w *dynajournal.Writer, events ...any) {
	b.Helper()
	if _, err := w.Append(b.Context(), events...); err != nil {
		b.Fatal(err)
	}
}

// leftovers returns what Leftovers finds after an hour.
func (b *bundle) leftovers() payloads.Found {
	b.Helper()
	time.Sleep(payloads.MinMinAge + time.Minute)
	found, err := payloads.Leftovers(b.Context(), b.journal, b.store, payloads.Options{MinAge: payloads.MinMinAge})
	if err != nil {
		b.Fatal(err)
	}
	return found
}

// want checks the number of leftovers, and the number of payloads that remain when the leftovers
// are removed.
func (b *bundle) want(leftovers, left int) {
	b.Helper()
	found := b.leftovers()
	if len(found.Leftovers) != leftovers || found.Listed != leftovers+left || found.Young != 0 {
		b.Errorf("found %+v; want %d leftovers among %d", found, leftovers, leftovers+left)
	}
	b.remove(found)
}

// remove removes leftovers from the store.
func (b *bundle) remove(found payloads.Found) {
	b.Helper()
	for _, stored := range found.Leftovers {
		if err := b.store.Delete(b.Context(), stored.Key); err != nil {
			b.Fatal(err)
		}
	}
}

func large(text string) string { return strings.Repeat(text, 500_000/len(text)) }

// virtual runs a test in virtual time, so that payloads get old quickly.
func virtual(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

func TestEventsOver400KBAreStoredAndRead(t *testing.T) {
	virtual(t, func(t *testing.T) {
		b := setup(t)
		w := b.recover("a")
		b.append(w, large("x"), "small", large("y"))
		b.append(w, large("z"))
		var got []string
		for e, err := range b.journal.Events(t.Context(), "a", dynajournal.Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			text, err := dynajournal.Decode[string](t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, text)
		}
		if !slices.Equal(got, []string{large("x"), "small", large("y"), large("z")}) {
			t.Errorf("%d events were read", len(got))
		}
		metadata := dynajournal.SnapshotMetadata{PersistenceID: "a", SequenceNumber: 4}
		if _, err := b.journal.SaveSnapshot(t.Context(), metadata, large("s")); err != nil {
			t.Fatal(err)
		}
		snapshot, _, err := b.journal.LoadSnapshot(t.Context(), "a", dynajournal.SnapshotCriteria{})
		if err != nil {
			t.Fatal(err)
		}
		if state, err := dynajournal.DecodeState[string](t.Context(), snapshot); err != nil || state != large("s") {
			t.Errorf("a state of %d bytes, %v", len(state), err)
		}
		for finding, err := range b.journal.Verify(t.Context(), "a", dynajournal.VerifyOptions{}) {
			t.Errorf("%+v, %v", finding, err)
		}
		b.want(0, 4)
	})
}

var errStore = errors.New("the store is not there")

// failing is a store whose Put stores nothing.
type failing struct{ payloads.Memory }

func (*failing) Put(context.Context, string, []byte) error { return errStore }

func TestAppendWhosePayloadCannotBePutWritesNothing(t *testing.T) {
	virtual(t, func(t *testing.T) {
		b := setup(t, func(c *dynajournal.Config) {
			c.Serialization = serialization.NewRegistry(serialization.External(&failing{}, 1000))
		})
		w := b.recover("a")
		_, err := w.Append(t.Context(), "small", large("x"))
		if !errors.Is(err, errStore) || !errors.Is(err, dynajournal.ErrRejected) || dynajournal.MaybeApplied(err) {
			t.Errorf("%v", err)
		}
		b.append(w, "the writer goes on")
		if next, err := w.NextSequenceNumber(t.Context()); err != nil || next != 2 {
			t.Errorf("the next number is %d, %v", next, err)
		}
	})
}

// A payload whose event is not written is found, regardless of the reason.
func TestLeftovers_FailedAppend(t *testing.T) {
	virtual(t, func(t *testing.T) {
		b := setup(t)
		w, other := b.recover("a"), b.recover("a")
		b.append(other, large("x"))
		if _, err := w.Append(t.Context(), large("y")); !errors.Is(err, dynajournal.ErrWriterConflict) {
			t.Fatalf("%v", err)
		}
		b.want(1, 1)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := other.Append(ended, large("z")); err == nil {
			t.Fatal("it is written")
		}
		remove, err := b.Engine.Inject(embedded.Fault{Effect: embedded.EffectThrottling})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Append(t.Context(), large("z")); err == nil {
			t.Fatal("it is written")
		}
		remove()
		b.want(1, 1)
	})
}

// If an event is written and only the response is lost, the event still refers to its payload.
func TestLeftovers_LostResponse(t *testing.T) {
	virtual(t, func(t *testing.T) {
		b := setup(t)
		w := b.recover("a")
		remove, err := b.Engine.Inject(embedded.Fault{Effect: embedded.EffectInternalError, Applied: true, Operation: "PutItem"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Append(t.Context(), large("x")); !dynajournal.MaybeApplied(err) {
			t.Errorf("%v", err)
		}
		remove()
		b.want(0, 1)
	})
}

func TestDeletedEventsLeaveLeftovers(t *testing.T) {
	virtual(t, func(t *testing.T) {
		b := setup(t)
		w := b.recover("a")
		for range 3 {
			b.append(w, large("x"))
		}
		if _, err := w.DeleteTo(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		b.want(2, 1)
		if _, err := w.Purge(t.Context(), dynajournal.PurgeOptions{}); err != nil {
			t.Fatal(err)
		}
		b.want(1, 0)
	})
}

func TestLeftovers_YoungPayload(t *testing.T) {
	virtual(t, func(t *testing.T) {
		b := setup(t)
		// The state before an append: the payload is put, and nothing refers to it yet.
		if _, err := b.Config.Serialization.Encode(t.Context(), large("x")); err != nil {
			t.Fatal(err)
		}
		found, err := payloads.Leftovers(t.Context(), b.journal, b.store, payloads.Options{MinAge: payloads.MinMinAge})
		if err != nil || len(found.Leftovers) != 0 || found.Young != 1 || found.Listed != 1 {
			t.Errorf("%+v, %v", found, err)
		}
		time.Sleep(payloads.MinMinAge + time.Second)
		found, err = payloads.Leftovers(t.Context(), b.journal, b.store, payloads.Options{MinAge: payloads.MinMinAge})
		if err != nil || len(found.Leftovers) != 1 || found.Leftovers[0].Bytes != 500_000 {
			t.Errorf("%+v, %v", found, err)
		}
	})
}

// References are found in every form in which a journal stores payloads.
func TestReferencesAreFoundWhereverTheyAreStored(t *testing.T) {
	for name, change := range map[string]func(*dynajournal.Config){
		"as today":         func(*dynajournal.Config) {},
		"of Akka 1.1":      func(c *dynajournal.Config) { c.OldEventFormat, c.OldSnapshotFormat = true, true },
		"compressed":       func(c *dynajournal.Config) { c.SnapshotCompression = true },
		"of another name":  func(c *dynajournal.Config) { c.JournalName = "other" },
		"in smaller items": func(c *dynajournal.Config) { c.MaxItemSize = 4096 },
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				b := setup(t, change)
				w := b.recover("a")
				b.append(w, large("x"))
				b.append(w, large("y"), large("z"))
				metadata := dynajournal.SnapshotMetadata{PersistenceID: "a", SequenceNumber: 3}
				if _, err := b.journal.SaveSnapshot(t.Context(), metadata, large("s")); err != nil {
					t.Fatal(err)
				}
				// A reference as in the envelope of a state, within data that could be compressed.
				enveloped := serialization.Payload{SerializerID: serialization.IDByteArray}
				for range 3 {
					enveloped.Bytes = append(enveloped.Bytes, b.reference()...)
				}
				metadata.SequenceNumber = 2
				if _, err := b.journal.SaveSnapshot(t.Context(), metadata, enveloped); err != nil {
					t.Fatal(err)
				}
				b.want(0, 7)
				// An event that no reader sees is still an item.
				if _, err := dynamodb.NewFromConfig(b.Engine.AWSConfig()).PutItem(t.Context(), &dynamodb.PutItemInput{
					TableName: new(dynajournal.DefaultSnapshotTable), Item: map[string]types.AttributeValue{
						"par": &types.AttributeValueMemberS{Value: "elsewhere"}, "seq": &types.AttributeValueMemberN{Value: "1"},
						"copy": &types.AttributeValueMemberB{Value: append([]byte("within "), b.reference()...)},
					},
				}); err != nil {
					t.Fatal(err)
				}
				b.want(0, 8)
			})
		})
	}
}

// reference puts a payload, and returns the stored reference to it.
func (b *bundle) reference() []byte {
	b.Helper()
	p, err := b.Config.Serialization.Encode(context.Background(), large("r"))
	if err != nil {
		b.Fatal(err)
	}
	return p.Bytes
}

// Events, snapshots with the ids of commands, and durable states are larger than 400 KB.
func TestEntitiesHaveLargePayloads(t *testing.T) {
	virtual(t, func(t *testing.T) {
		b := setup(t)
		notes := entity.Type[string, string]{
			Name: "note", Evolve: func(state, event string) string { return state + event },
			Snapshots: entity.Snapshots{Every: 1},
		}
		drafts := entity.StateType[string]{Name: "draft"}
		for i := range 2 {
			hosted, err := entity.Open(b.journal, notes, entity.Options{})
			if err != nil {
				t.Fatal(err)
			}
			states, err := entity.OpenStates(b.journal, drafts, entity.Options{})
			if err != nil {
				t.Fatal(err)
			}
			add := func(tx *entity.Tx[string, string]) (int, error) {
				tx.Record(large("x"))
				return len(tx.State()), nil
			}
			long, err := entity.Do(t.Context(), hosted, "a", add, entity.CommandID(fmt.Sprint(i)))
			if err != nil || long != (i+1)*len(large("x")) {
				t.Fatalf("the state has %d bytes, %v", long, err)
			}
			if _, err := entity.Do(t.Context(), states, "a", add); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(hosted.Close(t.Context()), states.Close(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
		// Two events, two snapshots and a durable state, which has replaced another one.
		b.want(1, 5)
	})
}

// broken is a store whose list ends with an error.
type broken struct{ payloads.Memory }

func (b *broken) List(ctx context.Context) iter.Seq2[payloads.Stored, error] {
	return func(yield func(payloads.Stored, error) bool) {
		for stored, err := range b.Memory.List(ctx) {
			if !yield(stored, err) {
				return
			}
		}
		yield(payloads.Stored{}, errStore)
	}
}

// After an error nothing is a leftover.
func TestLeftovers_NoneAfterError(t *testing.T) {
	virtual(t, func(t *testing.T) {
		b := setup(t)
		b.reference()
		time.Sleep(2 * payloads.MinMinAge)
		store := &broken{}
		if err := store.Put(t.Context(), strings.Repeat("A", 26), nil); err != nil {
			t.Fatal(err)
		}
		if found, err := payloads.Leftovers(t.Context(), b.journal, store, payloads.Options{MinAge: payloads.MinMinAge}); !errors.Is(err, errStore) || found.Leftovers != nil {
			t.Errorf("%+v, %v", found, err)
		}
		found, err := payloads.Leftovers(t.Context(), b.journal, b.store, payloads.Options{Tables: []string{"missing"}})
		if !errors.Is(err, dynajournal.ErrTableNotFound) || found.Leftovers != nil {
			t.Errorf("%+v, %v", found, err)
		}
		if _, err := b.Engine.Inject(embedded.Fault{Effect: embedded.EffectThrottling, Operation: "Scan"}); err != nil {
			t.Fatal(err)
		}
		if found, err := payloads.Leftovers(t.Context(), b.journal, b.store, payloads.Options{MinAge: payloads.MinMinAge}); err == nil || found.Leftovers != nil {
			t.Errorf("%+v, %v", found, err)
		}
	})
}

func TestWrongOptionsAreRefused(t *testing.T) {
	virtual(t, func(t *testing.T) {
		b := setup(t)
		for _, opts := range []payloads.Options{{MinAge: time.Minute}, {MinAge: -1}, {Segments: -1}, {Segments: 1001}} {
			if _, err := payloads.Leftovers(t.Context(), b.journal, b.store, opts); !errors.Is(err, dynajournal.ErrInvalidArgument) {
				t.Errorf("%+v: %v", opts, err)
			}
		}
		small := setup(t, func(c *dynajournal.Config) { c.MaxItemSize = 4095 })
		if _, err := payloads.Leftovers(t.Context(), small.journal, small.store, payloads.Options{MinAge: payloads.MinMinAge}); !errors.Is(err, dynajournal.ErrInvalidArgument) {
			t.Errorf("%v", err)
		}
	})
}

// An object whose key is not the key of a payload belongs to another program.
func TestLeftovers_OtherObjects(t *testing.T) {
	virtual(t, func(t *testing.T) {
		b := setup(t)
		for _, key := range []string{"", "readme", strings.Repeat("a", 26), strings.Repeat("A", 27)} {
			if err := b.store.Put(t.Context(), key, []byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		b.want(0, 0)
	})
}

// All items of the tables are read, with strong consistency, and the units are counted.
func TestCostOfLeftovers(t *testing.T) {
	virtual(t, func(t *testing.T) {
		b := setup(t)
		w := b.recover("a")
		for range 20 {
			b.append(w, strings.Repeat("x", 900))
		}
		found := b.leftovers()
		if found.Cost.Requests != 8 || found.Cost.ReadUnits < 6 || found.Cost.ReadUnits > 12 || found.Cost.WriteUnits != 0 {
			t.Errorf("%+v", found.Cost)
		}
	})
}
