package projection_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
	"github.com/dynajournal/dynajournal/projection/outbox"
)

// A refused message is stored, the messages after it are sent, and it is sent again on request.
func TestDeadLetter_RefusedMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box := &postbox{}
		b, letter := outboxWithLetter(t, box)
		want(t, "what is sent", box.bodies("a"), "w", "x", "y")
		m := letter.Message
		if m.ID != box.all()[1].ID || m.PersistenceID != "a" || m.SequenceNumber != 2 || string(m.Body) != "x" {
			t.Errorf("the dead letter is %+v", letter)
		}
		if !strings.Contains(letter.Reason, "refuses the message: x") || letter.Refused.IsZero() {
			t.Errorf("the dead letter is %+v", letter)
		}
		box.answer(nil)
		if err := outbox.SendAgain(t.Context(), b.journal, "group/out", m.ID); err != nil {
			t.Fatal(err)
		}
		until(t, "the dead letter is sent", func() bool { return len(b.letters()) == 0 })
		all := box.all()
		want(t, "what is sent", box.bodies("a"), "w", "x", "y", "x")
		if all[3].ID != m.ID {
			t.Errorf("it is sent again with the id %s", all[3].ID)
		}
		until(t, "the request is removed", func() bool { return b.row("group", "requests")["send_again"] == nil })
		wantError(t, "again", outbox.SendAgain(t.Context(), b.journal, "group/out", m.ID), outbox.ErrNoDeadLetter)
	})
}

func TestDeadLetter_RefusedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box := &postbox{}
		b, letter := outboxWithLetter(t, box)
		box.answer(func(outbox.Message) error { return fmt.Errorf("%w: still", outbox.ErrRefused) })
		if err := outbox.SendAgain(t.Context(), b.journal, "group/out", letter.Message.ID); err != nil {
			t.Fatal(err)
		}
		until(t, "the request is removed", func() bool { return b.row("group", "requests")["send_again"] == nil })
		letters := b.letters()
		if len(letters) != 1 || !strings.Contains(letters[0].Reason, "still") {
			t.Errorf("the dead letters are %+v", letters)
		}
	})
}

// While the target is down, a dead letter and its request stay.
func TestDeadLetter_TargetDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box := &postbox{}
		b, letter := outboxWithLetter(t, box)
		box.answer(func(outbox.Message) error { return errDown })
		if err := outbox.SendAgain(t.Context(), b.journal, "group/out", letter.Message.ID); err != nil {
			t.Fatal(err)
		}
		until(t, "it is tried twice", func() bool { return len(box.bodies("a")) == 5 })
		if letters := b.letters(); len(letters) != 1 {
			t.Errorf("the dead letters are %+v", letters)
		}
		box.answer(nil)
		until(t, "the dead letter is sent", func() bool { return len(b.letters()) == 0 })
	})
}

func TestDeadLetter_Discard(t *testing.T) {
	t.Parallel()
	box := &postbox{}
	b, letter := outboxWithLetter(t, box)
	wantError(t, "discard", outbox.Discard(t.Context(), b.journal, "group/out", letter.Message.ID), nil)
	err := outbox.Discard(t.Context(), b.journal, "group/out", letter.Message.ID)
	wantError(t, "discard again", err, outbox.ErrNoDeadLetter)
	if letters := b.letters(); len(letters) > 0 {
		t.Errorf("the dead letters are %+v", letters)
	}
}

// The response of the write of a dead letter is lost, and then the process is killed before it
// stores the offset.
func TestDeadLetter_WriteResponseLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		_, err := b.Engine.Inject(embedded.Fault{
			Effect: embedded.EffectInternalError, Applied: true, Operation: "PutItem", Table: projectionsTable, Times: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		b.write("a", "x", "y")
		gate, box := b.gate(""), &postbox{}
		box.answer(func(m outbox.Message) error {
			if string(m.Body) == "y" {
				gate.dead.Store(true)
			}
			return refuse("x")(m)
		})
		j := b.Journal(gate.install, func(c *dynajournal.Config) { c.Retries = 2 })
		stop := start(t, group(t, j, fast(), outbox.New("out", box, oneEach)))
		until(t, "the process dies", gate.dead.Load)
		stop()
		if letters := b.letters(); len(letters) != 1 {
			t.Errorf("the dead letters are %+v", letters)
		}
		b.runOutbox(box)
		b.await("group/out", "a", 2)
		want(t, "what is sent", box.bodies("a"), "x", "y", "x", "y")
		if letters := b.letters(); len(letters) != 1 {
			t.Errorf("the dead letters are %+v", letters)
		}
	})
}

// A reset sends all messages again, and leaves the dead letters.
func TestReset_KeepsDeadLetters(t *testing.T) {
	t.Parallel()
	box := &postbox{}
	b, _ := outboxWithLetter(t, box)
	if _, err := operator.New(b.journal, "group/out").Reset(t.Context(), operator.ResetOptions{Running: true}); err != nil {
		t.Fatal(err)
	}
	if row := b.row("group/out", "a"); row != nil {
		t.Errorf("the row is %v", row)
	}
	if letters := b.letters(); len(letters) != 1 {
		t.Errorf("the dead letters are %+v", letters)
	}
}

func TestRemove_DeletesDeadLetters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		box := &postbox{}
		box.answer(refuse("x"))
		b.write("a", "x")
		stop := b.runOutbox(box)
		b.await("group/out", "a", 1)
		stop()
		if letters := b.letters(); len(letters) != 1 {
			t.Fatalf("the dead letters are %+v", letters)
		}
		if _, err := b.remove("group/out"); err != nil {
			t.Fatal(err)
		}
		want(t, "remaining keys", b.keys(), "journal\x00") // the registry
	})
}

// A damaged dead letter hides no other one.
func TestDeadLetter_Damaged(t *testing.T) {
	t.Parallel()
	box := &postbox{}
	b, letter := outboxWithLetter(t, box)
	id := strings.Repeat("0", 64)
	b.putItem(projectionsTable, map[string]types.AttributeValue{
		"par":    &types.AttributeValueMemberS{Value: "journal\x00group/out/dead\x00" + id},
		"letter": &types.AttributeValueMemberB{Value: []byte(`[{"id":"x"}]`)},
	})
	found, damaged := 0, 0
	for l, err := range outbox.DeadLetters(t.Context(), b.journal, "group/out", operator.ScanOptions{}) {
		if err != nil {
			wantError(t, "the damaged one", err, dynajournal.ErrCorruptItem)
			damaged++
		} else if found++; l.Message.ID != letter.Message.ID {
			t.Errorf("%+v", l)
		}
	}
	if found != 1 || damaged != 1 {
		t.Errorf("%d dead letters, and %d that are damaged", found, damaged)
	}
	wantError(t, "it", outbox.SendAgain(t.Context(), b.journal, "group/out", id), dynajournal.ErrCorruptItem)
	wantError(t, "it", outbox.Discard(t.Context(), b.journal, "group/out", id), nil)
}

// The number of requests of a group is limited, because they are one item.
func TestDeadLetter_TooManyRequests(t *testing.T) {
	t.Parallel()
	b, letter := outboxWithLetter(t, &postbox{})
	requests := make([]string, 500)
	for i := range requests {
		// No process of the group carries it out.
		requests[i] = fmt.Sprintf("%d\x00another/out\x00", i)
	}
	item := rowKey("group", "requests")
	item["send_again"] = &types.AttributeValueMemberSS{Value: requests}
	b.putItem(projectionsTable, item)
	again := func() error { return outbox.SendAgain(t.Context(), b.journal, "group/out", letter.Message.ID) }
	wantError(t, "500 wait", again(), outbox.ErrTooManyRequests)
	item["send_again"] = &types.AttributeValueMemberSS{Value: requests[1:]}
	b.putItem(projectionsTable, item)
	wantError(t, "499 wait", again(), nil)
}

func TestDeadLetter_InvalidArguments(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, id, invalid := t.Context(), strings.Repeat("0", 64), dynajournal.ErrInvalidArgument
	list := func(j *dynajournal.Journal, name string, units float64) (err error) {
		for _, err = range outbox.DeadLetters(ctx, j, name, operator.ScanOptions{ReadUnitsPerSecond: units}) {
			break
		}
		return err
	}
	wantError(t, "no journal", list(nil, "group/out", 0), invalid)
	wantError(t, "no group", list(b.journal, "out", 0), invalid)
	wantError(t, "negative units", list(b.journal, "group/out", -1), invalid)
	wantError(t, "none", list(b.journal, "group/out", 0), nil)
	for what, do := range map[string]func(*dynajournal.Journal, string, string) error{
		"SendAgain": func(j *dynajournal.Journal, name, id string) error { return outbox.SendAgain(ctx, j, name, id) },
		"Discard":   func(j *dynajournal.Journal, name, id string) error { return outbox.Discard(ctx, j, name, id) },
	} {
		wantError(t, what+" without a journal", do(nil, "group/out", id), invalid)
		wantError(t, what+" without a group", do(b.journal, "out", id), invalid)
		wantError(t, what+" of a wrong id", do(b.journal, "group/out", "a\x00b"), invalid)
	}
	wantError(t, "SendAgain", outbox.SendAgain(ctx, b.journal, "group/out", id), projection.ErrNoProjection)
	wantError(t, "Discard", outbox.Discard(ctx, b.journal, "group/out", id), outbox.ErrNoDeadLetter)
}
