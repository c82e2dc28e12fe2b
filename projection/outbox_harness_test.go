package projection_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection/operator"
	"github.com/dynajournal/dynajournal/projection/outbox"
)

// postbox is a target in memory. It records all messages, even those it does not accept.
type postbox struct {
	mu   sync.Mutex
	sent []outbox.Message
	// on, if set, answers a message.
	on func(m outbox.Message) error
}

func (p *postbox) Send(_ context.Context, m outbox.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, m)
	if p.on != nil {
		return p.on(m)
	}
	return nil
}

func (p *postbox) all() []outbox.Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.sent)
}

// bodies returns the bodies of the messages of a persistence id.
func (p *postbox) bodies(pid string) []string {
	var all []string
	for _, m := range p.all() {
		if m.PersistenceID == pid {
			all = append(all, string(m.Body))
		}
	}
	return all
}

// answer replaces on.
func (p *postbox) answer(on func(m outbox.Message) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.on = on
}

// refuse returns an answer that refuses some bodies.
func refuse(bodies ...string) func(outbox.Message) error {
	return func(m outbox.Message) error {
		if slices.Contains(bodies, string(m.Body)) {
			return fmt.Errorf("%w: %s", outbox.ErrRefused, m.Body)
		}
		return nil
	}
}

// oneEach makes one message for each event, with its value as the body.
func oneEach(_ context.Context, e dynajournal.Event) ([]outbox.Message, error) {
	value, err := e.Payload(context.Background())
	return []outbox.Message{{Body: fmt.Append(nil, value)}}, err
}

// counting makes two messages for an event, with different bodies at each call.
func counting() outbox.MessageFunc {
	var mu sync.Mutex
	calls := 0
	return func(context.Context, dynajournal.Event) ([]outbox.Message, error) {
		mu.Lock()
		defer mu.Unlock()
		calls++
		return []outbox.Message{{Body: fmt.Append(nil, calls, "/0")}, {Body: fmt.Append(nil, calls, "/1")}}, nil
	}
}

// wantOneContent checks that all messages with the same id have the same body.
func wantOneContent(t testing.TB, boxes ...*postbox) {
	t.Helper()
	bodies := map[string]string{}
	for _, box := range boxes {
		for _, m := range box.all() {
			if before, ok := bodies[m.ID]; ok && before != string(m.Body) {
				t.Errorf("%q at %d: %q and then %q with the same id", m.PersistenceID, m.SequenceNumber, before, m.Body)
			}
			bodies[m.ID] = string(m.Body)
		}
	}
}

// letters returns the bodies and reasons of the dead letters of group/out.
func (b *bundle) letters() (all []outbox.DeadLetter) {
	b.Helper()
	for letter, err := range outbox.DeadLetters(b.Context(), b.journal, "group/out", operator.ScanOptions{}) {
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, letter)
	}
	return all
}

// outboxWithLetter runs an outbox until its target has refused the event x of a, and keeps running.
func outboxWithLetter(t *testing.T, box *postbox) (*bundle, outbox.DeadLetter) {
	t.Helper()
	b := setup(t)
	box.answer(refuse("x"))
	b.write("a", "w", "x", "y")
	b.runOutbox(box)
	b.await("group/out", "a", 3)
	letters := b.letters()
	if len(letters) != 1 {
		t.Fatalf("the dead letters are %v", letters)
	}
	return b, letters[0]
}

// runOutbox runs an outbox that often polls for requests.
func (b *bundle) runOutbox(target outbox.Target) (stop func()) {
	b.Helper()
	config := fast()
	config.ClaimTimeout = 500 * time.Millisecond
	return start(b, group(b, b.Journal(), config, outbox.New("out", target, oneEach)))
}
