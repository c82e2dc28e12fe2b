package projection_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/outbox"
	"github.com/dynajournal/dynajournal/serialization"
)

// former is an event type of an earlier version of the program: no current type has its manifest.
type former struct{ Text string }

var errFormer = errors.New("no such text")

// ofToday is the type of the entities "thing". One stored event becomes two, another one none, and
// one can't be read.
var ofToday = entity.Type[string, string]{
	Name: "thing", Evolve: func(state, event string) string { return state + event },
	Upcasters: map[string]func(serialization.Payload) ([]string, error){
		"former": func(stored serialization.Payload) ([]string, error) {
			switch {
			case bytes.Contains(stored.Bytes, []byte("two")):
				return []string{"t", "wo"}, nil
			case bytes.Contains(stored.Bytes, []byte("none")):
				return nil, nil
			case bytes.Contains(stored.Bytes, []byte("wrong")):
				return nil, errFormer
			}
			return []string{"one"}, nil
		},
	},
}

// withFormer returns a bundle whose journal does not know the type former, and has events of it.
func withFormer(t *testing.T, texts ...string) *bundle {
	t.Helper()
	b := setup(t)
	old := b.Config
	old.Serialization = serialization.NewRegistry()
	if err := serialization.JSON[former](old.Serialization, "former"); err != nil {
		t.Fatal(err)
	}
	j := b.Journal(func(c *dynajournal.Config) { *c = old })
	for _, pid := range []string{"thing|a", "other|a"} {
		w, err := j.Recover(t.Context(), pid, dynajournal.RecoverOptions{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			if _, err := w.Append(t.Context(), former{text}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b
}

// All readers get the same events as an entity.
func TestUpcaster_AllReaders(t *testing.T) {
	t.Parallel()
	b := withFormer(t, "x", "two", "none", "y")
	if err := entity.UseUpcasters(b.journal, ofToday); err != nil {
		t.Fatal(err)
	}
	all := []string{"1 one", "2 t", "2 wo", "4 one"}

	var read, recovered recorder
	for e, err := range b.journal.Events(t.Context(), "thing|a", dynajournal.Range{}) {
		if err = errors.Join(err, read.Handle(t.Context(), e)); err != nil {
			t.Fatal(err)
		}
	}
	want(t, "Events", read.of("thing|a"), all...)
	if _, err := b.journal.Recover(t.Context(), "thing|a", dynajournal.RecoverOptions{}, func(e dynajournal.Event) error {
		return recovered.Handle(t.Context(), e)
	}); err != nil {
		t.Fatal(err)
	}
	want(t, "Recover", recovered.of("thing|a"), all...)

	var least, once recorder
	box := &postbox{}
	only := projection.OnlyIDs("thing|")
	start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", &least, only),
		projection.Transactional("once", projection.TransactionalFunc(
			func(ctx context.Context, e dynajournal.Event) ([]types.TransactWriteItem, error) {
				return nil, once.Handle(ctx, e)
			}), only),
		outbox.New("out", box, oneEach, only)))
	for _, name := range []string{"group/all", "group/once", "group/out"} {
		b.await(name, "thing|a", 4)
	}
	want(t, "a projection", least.of("thing|a"), all...)
	want(t, "a transactional one", once.of("thing|a"), all...)
	want(t, "an outbox", box.bodies("thing|a"), "one", "t", "wo", "one")
	ids := map[string]bool{}
	for _, m := range box.all() {
		ids[m.ID] = true
	}
	if len(ids) != 4 {
		t.Errorf("4 messages have %d ids", len(ids))
	}
}

// Upcasters of a type apply to the persistence ids of its entities. The error of an upcaster
// becomes the error of the event's value, and readers still get the events after it.
func TestUpcaster_Fails(t *testing.T) {
	t.Parallel()
	b := withFormer(t, "wrong", "x")
	if err := entity.UseUpcasters(b.journal, ofToday); err != nil {
		t.Fatal(err)
	}
	for pid, first := range map[string]error{"thing|a": errFormer, "other|a": serialization.ErrUnknownSerializer} {
		var errs []error
		for e, err := range b.journal.Events(t.Context(), pid, dynajournal.Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			_, err = e.Payload(t.Context())
			errs = append(errs, err)
		}
		if len(errs) != 2 || !errors.Is(errs[0], first) || (errs[1] == nil) != (pid == "thing|a") {
			t.Errorf("%s: %v", pid, errs)
		}
	}
	eager := b.Journal(func(c *dynajournal.Config) { c.DecodeEagerly = true })
	if err := entity.UseUpcasters(eager, ofToday); err != nil {
		t.Fatal(err)
	}
	for _, err := range eager.Events(t.Context(), "thing|a", dynajournal.Range{}) {
		wantError(t, "with DecodeEagerly", err, errFormer)
	}
	wantError(t, "no journal", entity.UseUpcasters(nil, ofToday), dynajournal.ErrInvalidArgument)
	wantError(t, "no type", entity.UseUpcasters(b.journal, entity.Type[string, string]{}), dynajournal.ErrInvalidArgument)
}
