package projection_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
	"github.com/dynajournal/dynajournal/projection/outbox"
)

var errDown = errors.New("the target is down")

func TestMessagesAreSentInOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x", "y")
	b.write("b", "z")
	box := &postbox{}
	make := func(_ context.Context, e dynajournal.Event) ([]outbox.Message, error) {
		if e.PersistenceID == "b" {
			return nil, nil
		}
		headers := map[string]string{"n": fmt.Sprint(e.SequenceNumber)}
		return []outbox.Message{{Topic: "one", Headers: headers, ID: "ignored"}, {Body: []byte("body")}}, nil
	}
	start(t, group(t, b.journal, fast(), outbox.New("out", box, make)))
	b.await("group/out", "a", 2)
	b.await("group/out", "b", 1)
	var got, ids []string
	for _, m := range box.all() {
		got = append(got, fmt.Sprint(m.PersistenceID, m.SequenceNumber, m.Topic, m.Headers, string(m.Body)))
		ids = append(ids, m.ID)
	}
	want(t, "the messages", got, "a1onemap[n:1]", "a1map[]body", "a2onemap[n:2]", "a2map[]body")
	slices.Sort(ids)
	if len(slices.Compact(ids)) != 4 || len(ids[0]) != 64 {
		t.Errorf("the ids are %q", ids)
	}
}

// A process is killed when it has sent messages, and before it has stored the offset.
func TestMessagesOfAKilledProcessHaveTheSameIDs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.write("a", "x", "y")
		gate := b.gate("")
		first, second := &postbox{}, &postbox{}
		first.answer(func(m outbox.Message) error {
			if string(m.Body) == "y" {
				gate.dead.Store(true)
			}
			return nil
		})
		j := b.Journal(gate.install, func(c *dynajournal.Config) { c.Retries = -1 })
		stop := start(t, group(t, j, fast(), outbox.New("out", first, oneEach)))
		until(t, "the process dies", gate.dead.Load)
		stop()
		b.runOutbox(second)
		b.await("group/out", "a", 2)
		want(t, "the second process", second.bodies("a"), "x", "y")
		for i, m := range second.all() {
			if before := first.all()[i]; m.ID != before.ID {
				t.Errorf("message %d: %s and then %s", i, before.ID, m.ID)
			}
		}
	})
}

func TestMessagesOfTheNextLifeHaveOtherIDs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		w := b.write("a", "x")
		box := &postbox{}
		stop := b.runOutbox(box)
		b.await("group/out", "a", 1)
		stop()
		if _, err := w.Purge(t.Context(), dynajournal.PurgeOptions{Now: true}); err != nil {
			t.Fatal(err)
		}
		b.write("a", "x", "y")
		b.runOutbox(box)
		b.await("group/out", "a", 2)
		want(t, "both lives", box.bodies("a"), "x", "x", "y")
		if all := box.all(); all[0].ID == all[1].ID {
			t.Errorf("both messages at 1 have the id %s", all[0].ID)
		}
	})
}

// While the target is down, persistence ids wait. They continue when it is up again.
func TestOutageOfATargetMakesNothingStuck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.write("a", "x", "y")
		box := &postbox{}
		box.answer(func(outbox.Message) error { return errDown })
		config := fast()
		config.Attempts, config.RetryLongest = 1, 30*time.Second
		start(t, group(t, b.Journal(), config, outbox.New("out", box, oneEach)))
		time.Sleep(10 * time.Minute)
		for stuck, err := range operator.New(b.journal, "").Stuck(t.Context()) {
			t.Errorf("stuck: %v, %v", stuck, err)
		}
		if got := box.bodies("a"); slices.Contains(got, "y") || len(got) > 60 {
			t.Errorf("sent during the outage: %q", got)
		}
		box.answer(nil)
		b.await("group/out", "a", 2)
	})
}

// Invalid messages of the function make the persistence id stuck, and nothing is sent.
func TestWrongMessagesMakeAnIDStuck(t *testing.T) {
	t.Parallel()
	b := setup(t)
	wrong := map[string]func() ([]outbox.Message, error){
		"an error":     func() ([]outbox.Message, error) { return nil, errDown },
		"a panic":      func() ([]outbox.Message, error) { panic("lost") },
		"too many":     func() ([]outbox.Message, error) { return make([]outbox.Message, 101), nil },
		"a large body": func() ([]outbox.Message, error) { return []outbox.Message{{Body: make([]byte, 300<<10)}}, nil },
		"a long topic": func() ([]outbox.Message, error) {
			return []outbox.Message{{Topic: strings.Repeat("x", 257)}}, nil
		},
		"a header without a name": func() ([]outbox.Message, error) {
			return []outbox.Message{{Headers: map[string]string{"": "x"}}}, nil
		},
		"a name of two lines": func() ([]outbox.Message, error) {
			return []outbox.Message{{Headers: map[string]string{"a\r\nb": "x"}}}, nil
		},
		"a value of other bytes": func() ([]outbox.Message, error) {
			return []outbox.Message{{Headers: map[string]string{"a": "\xff"}}}, nil
		},
	}
	for name := range wrong {
		b.write(name, "x")
	}
	b.write("right", "x")
	box := &postbox{}
	messages := func(ctx context.Context, e dynajournal.Event) ([]outbox.Message, error) {
		if made := wrong[e.PersistenceID]; made != nil {
			return made()
		}
		return oneEach(ctx, e)
	}
	config := fast()
	config.Attempts = 1
	start(t, group(t, b.journal, config, outbox.New("out", box, messages)))
	b.await("group/out", "right", 1)
	for name := range wrong {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		wantError(t, name, projection.WaitFor(ctx, b.journal, "group/out", name, 1), projection.ErrStuck)
	}
	if all := box.all(); len(all) != 1 {
		t.Errorf("sent: %v", all)
	}
}

func TestOutboxNeedsATargetAndAFunction(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, p := range map[string]projection.Projection{
		"no target":              outbox.New("out", nil, oneEach),
		"no function":            outbox.New("out", &postbox{}, nil),
		"an option of an outbox": projection.AtLeastOnce("out", &recorder{}, outbox.MakeOnce()),
	} {
		_, err := projection.New(b.journal, fast(), p)
		wantError(t, name, err, dynajournal.ErrInvalidArgument)
	}
}
