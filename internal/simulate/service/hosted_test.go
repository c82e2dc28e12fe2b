package service_test

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// hosted has the entities and the states of a process on a journal.
type hosted struct {
	things   *entity.Entities[Thing, Done]
	settings *entity.States[Setting]
}

func (s *service) host(j *dynajournal.Journal) *hosted {
	things, err := entity.Open(j, entity.Type[Thing, Done]{Name: "thing", Evolve: evolve, Tags: tagsOf, Snapshots: s.snapshots}, entity.Options{})
	if err != nil {
		s.Fatal(err)
	}
	settings, err := entity.OpenStates(j, entity.StateType[Setting]{Name: "setting"}, entity.Options{Attempts: 20})
	if err != nil {
		s.Fatal(err)
	}
	return &hosted{things, settings}
}

func isThing(b *subject) bool { return strings.HasPrefix(b.pid, "thing|") }

// idOf returns the id of a subject, without its type.
func idOf(b *subject) string {
	_, id, _ := strings.Cut(b.pid, "|")
	return id
}

// do does an operation once, even if it is called several times with the name.
func (h *hosted) do(ctx context.Context, b *subject, name string) (err error) {
	if isThing(b) {
		_, err = h.things.Update(ctx, idOf(b), func(tx *entity.Tx[Thing, Done]) error {
			tx.Record(done(name))
			return nil
		}, entity.CommandID(name))
	} else {
		_, err = h.settings.Update(ctx, idOf(b), func(tx *entity.StateTx[Setting]) error {
			tx.Record(Setting{append(slices.Clip(tx.State().Names), name)})
			return nil
		}, entity.CommandID(name))
	}
	return err
}

// view returns the names of the operations that were done.
func (h *hosted) view(b *subject) (names []string, err error) {
	if isThing(b) {
		_, err = h.things.View(context.Background(), idOf(b), func(t Thing) error { names = slices.Clone(t.Names); return nil })
	} else {
		_, err = h.settings.View(context.Background(), idOf(b), func(t Setting) error { names = slices.Clone(t.Names); return nil })
	}
	return names, err
}

func (h *hosted) purge(b *subject) error {
	if isThing(b) {
		return h.things.Purge(context.Background(), idOf(b))
	}
	return h.settings.Purge(context.Background(), idOf(b))
}

func (h *hosted) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = h.things.Close(ctx)   // it fails in a process that was killed
	_ = h.settings.Close(ctx) // as well
}
