package entity_test

import (
	"context"
	"maps"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// Basket is a state that Evolve changes in place.
type Basket struct{ Items map[string]int }

type Put struct{ Item string }

func basketType(copies *int) entity.Type[*Basket, Put] {
	return entity.Type[*Basket, Put]{
		Name:    "basket",
		Initial: func(string) *Basket { return &Basket{Items: map[string]int{}} },
		Evolve: func(b *Basket, p Put) *Basket {
			b.Items[p.Item]++
			return b
		},
		Copy: func(b *Basket) *Basket {
			*copies++
			return &Basket{Items: maps.Clone(b.Items)}
		},
	}
}

// A state that Evolve changes in place is copied once for each write. Events recorded by a command
// that fails have no effect.
func TestStateThatIsChangedInPlaceIsCopied(t *testing.T) {
	t.Parallel()
	g := &gate{}
	b := setup(t, dynajournal.TableOptions{}, single, g.install)
	register(t, b.Config.Serialization)
	copies := 0
	hosted, err := entity.Open(b.Journal(), basketType(&copies), entity.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hosted.Close(context.Background()) })
	put := func(item string, fails error) <-chan error {
		decided, done := make(chan struct{}), make(chan error, 1)
		go func() {
			_, err := hosted.Update(t.Context(), "anna", func(tx *entity.Tx[*Basket, Put]) error {
				tx.Record(Put{item}, Put{item})
				close(decided)
				return fails
			})
			done <- err
		}()
		<-decided
		return done
	}
	arrived, release := g.block()
	first := put("apple", nil)
	<-arrived
	results := []<-chan error{first, put("pear", nil), put("plum", nil), put("stone", errInsufficient), put("fig", nil)}
	if _, err := hosted.View(t.Context(), "anna", func(b *Basket) error {
		if len(b.Items) > 0 {
			t.Errorf("a view shows %v while nothing is durable", b.Items)
		}
		return nil
	}, entity.InMemory); err != nil {
		t.Error(err)
	}
	release()
	for i, done := range results {
		if err := <-done; (err == errInsufficient) != (i == 3) || err != nil && i != 3 { //nolint:errorlint // as it is
			t.Errorf("command %d: %v", i, err)
		}
	}
	want := map[string]int{"apple": 2, "pear": 2, "plum": 2, "fig": 2}
	for _, opts := range [][]entity.ViewOption{nil, {entity.InMemory}} {
		if _, err := hosted.View(t.Context(), "anna", func(b *Basket) error {
			if !maps.Equal(b.Items, want) {
				t.Errorf("a view shows %v, want %v", b.Items, want)
			}
			return nil
		}, opts...); err != nil {
			t.Error(err)
		}
	}
	// One for each of the two writes, and one because a command has failed in the second.
	if copies != 3 {
		t.Errorf("the state was copied %d times, want 3", copies)
	}
}
