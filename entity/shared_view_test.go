package entity_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/internal/jvm"
)

// A JVM's deletion leaves nothing at the numbers that it deletes. A view, and a fresh command, show
// what was written there nevertheless.
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
		for _, look := range []string{"View", "a fresh command"} {
			t.Run(name+", "+look, func(t *testing.T) {
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
				if look == "View" {
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

// byJVM lets a JVM persist deposits of 1 in the account anna, save the state, and delete.
func (b *bundle) byJVM(state Account, deposits int, to int64) {
	b.Helper()
	plugin := jvm.New(dynamodb.NewFromConfig(b.engine.AWSConfig()),
		dynajournal.DefaultJournalTable, dynajournal.DefaultSnapshotTable, dynajournal.DefaultJournalName, 10)
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
	p, err := b.config.Serialization.Encode(value)
	if err != nil {
		b.Fatal(err)
	}
	return jvm.Payload{Bytes: p.Bytes, Serializer: p.SerializerID, Manifest: p.Manifest}
}
