package projection_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
	"github.com/dynajournal/dynajournal/projection/outbox"
)

// once returns an outbox whose messages are made once.
func once(box *postbox, messages outbox.MessageFunc) projection.Projection {
	return outbox.New("out", box, messages, outbox.MakeOnce())
}

// A process is killed when it has sent the first of two messages. The next process sends the
// messages that the first one has made, although its function would make others.
func TestMessagesAreMadeOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.write("a", "x", "y")
		gate, messages := b.gate(""), counting()
		first, second := &postbox{}, &postbox{}
		first.answer(func(outbox.Message) error {
			gate.dead.Store(true)
			return errDown
		})
		j := b.Journal(gate.install, func(c *dynajournal.Config) { c.Retries = -1 })
		stop := start(t, group(t, j, fast(), once(first, messages)))
		until(t, "the process dies", gate.dead.Load)
		stop()
		config := fast()
		config.ClaimTimeout = 100 * time.Millisecond
		stop = start(t, group(t, b.Journal(), config, once(second, messages)))
		b.await("group/out", "a", 2)
		want(t, "the second process", second.bodies("a"), "1/0", "1/1", "2/0", "2/1")
		wantOneContent(t, first, second)
		stop()
		if row := b.row("group/out", "a"); row["made"] != nil || row["made_by"] != nil {
			t.Errorf("what is sent stays in the row: %v", row)
		}
	})
}

// A process is killed when it has sent the messages of an event, and has stored the messages of the
// next one.
func TestOffsetMovesWithTheNextMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.write("a", "x", "y", "z")
		gate, messages := b.gate(""), counting()
		first, second := &postbox{}, &postbox{}
		first.answer(func(m outbox.Message) error {
			if m.SequenceNumber == 2 {
				gate.dead.Store(true)
			}
			return nil
		})
		j := b.Journal(gate.install, func(c *dynajournal.Config) { c.Retries = -1 })
		stop := start(t, group(t, j, fast(), once(first, messages)))
		until(t, "the process dies", gate.dead.Load)
		stop()
		if seq := b.rowNumber("group/out", "a", "seq"); seq != 1 {
			t.Errorf("the offset is %d", seq)
		}
		config := fast()
		config.ClaimTimeout = 100 * time.Millisecond
		start(t, group(t, b.Journal(), config, once(second, messages)))
		b.await("group/out", "a", 3)
		wantOneContent(t, first, second)
	})
}

// A process is slow in making messages. Another one takes its claim over, and makes and sends them.
func TestMessagesAreStoredUnderTheClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.write("a", "x")
		arrived, passed := make(chan struct{}), make(chan struct{})
		messages, first, second := counting(), &postbox{}, &postbox{}
		slow := func(ctx context.Context, e dynajournal.Event) ([]outbox.Message, error) {
			close(arrived)
			<-passed
			return messages(ctx, e)
		}
		g := group(t, b.Journal(), fast(), once(first, slow))
		start(t, g)
		comes(t, "the event", arrived)
		config := fast()
		config.ClaimTimeout = 100 * time.Millisecond
		start(t, group(t, b.Journal(), config, once(second, messages)))
		b.await("group/out", "a", 1)
		close(passed)
		until(t, "the slow process continues", func() bool { return g.Lag()[0].IDs == 0 })
		want(t, "the second process", second.bodies("a"), "1/0", "1/1")
		want(t, "the slow process", first.bodies("a"))
	})
}

// A process has read the row, and is suspended before it claims. Another process makes messages,
// sends one, and releases its claim because the target is down.
func TestMessagesOfAnotherProcessAreSent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x")
	gate, messages := b.gate(":claim"), counting()
	first, second := &postbox{}, &postbox{}
	start(t, group(t, b.Journal(gate.install), fast(), once(first, messages)))
	comes(t, "the request", gate.arrived)
	second.answer(func(m outbox.Message) error {
		if string(m.Body) == "1/1" {
			return errDown
		}
		return nil
	})
	stop := start(t, group(t, b.Journal(), fast(), once(second, messages)))
	until(t, "the target is down", func() bool { return slices.Contains(second.bodies("a"), "1/1") })
	stop()
	gate.release()
	b.await("group/out", "a", 1)
	want(t, "the first process", first.bodies("a"), "1/0", "1/1")
	wantOneContent(t, first, second)
}

// Stored messages of a skipped event are not sent as messages of another event.
func TestStoredMessagesOfASkippedEventAreNotSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.write("a", "x", "y")
		box := &postbox{}
		box.answer(func(m outbox.Message) error {
			if m.SequenceNumber == 1 {
				panic("lost")
			}
			return nil
		})
		config := fast()
		config.Attempts, config.ClaimTimeout = 1, 500*time.Millisecond
		start(t, group(t, b.Journal(), config, once(box, counting())))
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		wantError(t, "the event", projection.WaitFor(ctx, b.journal, "group/out", "a", 1), projection.ErrStuck)
		if _, err := operator.New(b.journal, "group/out").Skip(t.Context(), "a", 1); err != nil {
			t.Fatal(err)
		}
		until(t, "the next event is handled", func() bool { return b.rowNumber("group/out", "a", "seq") == 2 })
		want(t, "all", box.bodies("a"), "1/0", "2/0", "2/1")
	})
}

func TestDamagedMessagesMakeAnIDStuck(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for pid, value := range map[string]types.AttributeValue{
		"a": &types.AttributeValueMemberB{Value: []byte("[{")}, "b": &types.AttributeValueMemberS{Value: "x"},
	} {
		b.write(pid, "x")
		row := rowKey("group/out", pid)
		row["made"] = value
		b.putItem(projectionsTable, row)
	}
	box := &postbox{}
	config := fast()
	config.Attempts = 1
	start(t, group(t, b.journal, config, once(box, counting())))
	for _, pid := range []string{"a", "b"} {
		until(t, pid+" is stuck", func() bool { return b.isStuck("group/out", pid) })
		want(t, pid, box.bodies(pid))
	}
}

// Processes send, are killed and start again, while responses are lost and the target fails.
func TestMessagesOfProcessesThatAreKilled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ids = 3
		rounds := testsize.Of(2, 10)
		b := setup(t)
		remove, err := b.Engine.Inject(embedded.Fault{
			Effect: embedded.EffectInternalError, Applied: true, Table: projectionsTable, Operation: "UpdateItem", Probability: 0.05,
		})
		if err != nil {
			t.Fatal(err)
		}
		box, calls := &postbox{}, 0
		box.answer(func(m outbox.Message) error {
			if calls++; calls%7 == 0 {
				return errDown
			}
			if m.SequenceNumber%5 == 0 {
				return outbox.ErrRefused
			}
			return nil
		})
		config := fast()
		config.ClaimTimeout = 200 * time.Millisecond
		config.Source = projection.Sweep(projection.SweepOptions{Every: 200 * time.Millisecond, PerSecond: -1})
		messages := counting()
		for round := range rounds {
			var ends []func()
			for worker := range 2 {
				gate := b.gate("")
				gate.killAfter("UpdateItem", 5+(round*7+worker*5)%20)
				j := b.Journal(gate.install, func(c *dynajournal.Config) { c.Retries = 2 })
				ends = append(ends, start(t, group(t, j, config, once(box, messages))))
			}
			for id := range ids {
				b.write(fmt.Sprint("id", id), "x", "y", "z")
			}
			time.Sleep(time.Second)
			for _, end := range ends {
				end()
			}
		}
		remove()
		start(t, group(t, b.Journal(), config, once(box, messages)))
		for id := range ids {
			b.await("group/out", fmt.Sprint("id", id), int64(3*rounds))
		}
		wantOneContent(t, box)
		sent := map[string]bool{}
		highest := map[string]int64{}
		for _, m := range box.all() {
			if !sent[m.ID] && m.SequenceNumber < highest[m.PersistenceID] {
				t.Errorf("%s at %d is first sent after %d", m.PersistenceID, m.SequenceNumber, highest[m.PersistenceID])
			}
			sent[m.ID] = true
			highest[m.PersistenceID] = max(highest[m.PersistenceID], m.SequenceNumber)
		}
		if len(sent) != 2*3*ids*rounds {
			t.Errorf("%d messages, not %d", len(sent), 2*3*ids*rounds)
		}
		if got, want := len(b.letters()), 2*ids*(3*rounds/5); got != want {
			t.Errorf("%d dead letters, not %d", got, want)
		}
	})
}
