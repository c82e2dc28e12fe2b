package entity_test

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/jvm"
)

// A JVM's deletion leaves nothing at the deleted numbers. A view, and a command with Fresh, still
// show the events that were written there.
func TestViewFindsWhatAJVMHasWrittenAndDeleted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before int // deposits of 1 in Go
		to     int64
	}{
		"all of a new entity":           {0, 5},
		"a part of a new entity":        {0, 2},
		"all":                           {3, 8},
		"the number after the last one": {3, 4},
		"all before that":               {3, 3},
		"another block":                 {97, 102},
	} {
		for _, call := range []string{"View", "a fresh command"} {
			t.Run(name+", "+call, func(t *testing.T) {
				t.Parallel()
				b := setup(t, dynajournal.TableOptions{SharedWithJVM: true})
				a := b.accounts()
				for range c.before {
					do(t, a, "anna", deposit(1))
				}
				view(t, a, "anna")
				const persisted = 5
				b.byJVM(Account{c.before + persisted, c.before + persisted}, persisted, c.to)
				var got int
				if call == "View" {
					got, _ = view(t, a, "anna")
				} else {
					got = do(t, a, "anna", balance, entity.Fresh())
				}
				if want := c.before + persisted; got != want {
					t.Errorf("the balance is %d, want %d", got, want)
				}
			})
		}
	}
}

// Two deletions of a JVM run at the same time, and the one that deletes less writes its low mark
// last. A state that ends with a deleted event is loaded from the snapshot.
func TestLoad_LowMarkLoweredByJVM(t *testing.T) {
	t.Parallel()
	const before, persisted = 3, 10
	for name, run := range map[string]func(testing.TB, *accounts) (got, want int){
		"View": func(t testing.TB, a *accounts) (int, int) {
			t.Helper()
			got, _ := view(t, a, "anna")
			return got, before + persisted
		},
		"a fresh command": func(t testing.TB, a *accounts) (int, int) {
			t.Helper()
			return do(t, a, "anna", balance, entity.Fresh()), before + persisted
		},
		"a command that records": func(t testing.TB, a *accounts) (int, int) {
			t.Helper()
			return do(t, a, "anna", deposit(1)), before + persisted + 1
		},
	} {
		for _, to := range []int64{before, before + 1, before + persisted/2, before + persisted} {
			for _, c := range []struct {
				shards int
				low    int64
			}{{1, before}, {10, before}, {10, before + 1}} {
				t.Run(fmt.Sprintf("%s, %d of %d deleted, %+v", name, to, before+persisted, c), func(t *testing.T) {
					t.Parallel()
					var elapsed atomic.Int64
					b := setup(t, dynajournal.TableOptions{SharedWithJVM: true}, func(config *dynajournal.Config) {
						config.SequenceShards = c.shards
						core.SetClock(config, clock.New(time.Now, func() time.Duration { return time.Duration(elapsed.Load()) }))
					})
					a := b.accounts()
					for range before {
						do(t, a, "anna", deposit(1))
					}
					b.byJVM(Account{before + persisted, before + persisted}, persisted, to)
					b.lowMarkOfJVM(c.low)
					elapsed.Add(int64(2 * time.Minute)) // more than Config.HandoverTime
					if got, want := run(t, a); got != want {
						t.Errorf("the balance is %d, want %d", got, want)
					}
					if got, _ := view(t, b.accounts(), "anna"); got < before+persisted {
						t.Errorf("another process shows %d, want %d", got, before+persisted)
					}
				})
			}
		}
	}
}

// lowMarkOfJVM puts the low mark of the account anna, as a JVM does.
func (b *bundle) lowMarkOfJVM(low int64) {
	b.Helper()
	number := &types.AttributeValueMemberN{Value: strconv.FormatInt(low, 10)}
	_, err := dynamodb.NewFromConfig(b.Engine.AWSConfig()).PutItem(b.Context(), &dynamodb.PutItemInput{
		TableName: aws.String(dynajournal.DefaultJournalTable),
		Item: map[string]types.AttributeValue{
			"par": &types.AttributeValueMemberS{Value: "journal-SL-account|anna-0"},
			"num": &types.AttributeValueMemberN{Value: "0"}, "seq": number,
		},
	})
	if err != nil {
		b.Fatal(err)
	}
}

// byJVM lets a JVM persist deposits of 1 in the account anna, save state as a snapshot, and delete
// the events up to to.
func (b *bundle) byJVM(state Account, deposits int, to int64) {
	b.Helper()
	plugin := jvm.New(dynamodb.NewFromConfig(b.Engine.AWSConfig()), dynajournal.DefaultJournalTable,
		dynajournal.DefaultSnapshotTable, dynajournal.DefaultJournalName, b.Journal().SequenceShards())
	e, err := plugin.Start(b.Context(), "account|anna")
	for range deposits {
		if err == nil {
			_, err = e.PersistEach(b.Context(), b.payload(Deposited{1}))
		}
	}
	if err == nil {
		err = e.SaveSnapshot(b.Context(), b.payload(state))
	}
	if err == nil {
		err = e.Delete(b.Context(), to)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// payload returns the stored form of a value.
func (b *bundle) payload(value any) jvm.Payload {
	b.Helper()
	p, err := b.Config.Serialization.Encode(context.Background(), value)
	if err != nil {
		b.Fatal(err)
	}
	return jvm.Payload{Bytes: p.Bytes, Serializer: p.SerializerID, Manifest: p.Manifest}
}
