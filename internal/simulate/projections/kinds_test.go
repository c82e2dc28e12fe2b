package projections_test

import (
	"context"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/explore"
	"github.com/dynajournal/dynajournal/projection"
)

// kind is a kind of projection. Each group has one of each.
type kind interface {
	name() string
	// once reports whether each event has its effect once.
	once() bool
	// takes reports whether an event is handled. Other events only move the offset.
	takes(text string) bool
	// projection returns the projection of a process. Its handler first calls begin, and reports
	// its calls to the oracle.
	projection(h *handler) projection.Projection
}

// allKinds has the kinds of a random history.
var allKinds = []kind{called{}, effects{}, tagged{}}

// handler is the common part of handlers of all kinds.
type handler struct {
	p    *process
	g    int
	kind kind
}

// start misbehaves like a wrong handler: it fails, panics, or takes too long, with or without
// regard to its context.
func (h *handler) start(ctx context.Context, pid string) error {
	err := h.misbehave(ctx, pid)
	h.p.still.Wait() // while the process is suspended
	if h.p.connection.Killed() {
		err = explore.ErrKilled
	}
	if err != nil {
		h.p.oracle.failure(h.g, h.kind, pid)
	}
	return err
}

func (h *handler) misbehave(ctx context.Context, pid string) error {
	of, p := &h.p.history.groups[h.g], h.p
	if p.isDown(h.g, h.kind) && !p.up.Load() {
		return projection.Delayed(errWanted)
	}
	if p.calm.Load() {
		return nil
	}
	if poisoned := p.poisoned.Load(); poisoned >= 0 && odd[int(poisoned)%len(odd)] == pid {
		return errWanted
	}
	dice := p.random(1000)
	if dice -= of.failing; dice < 0 {
		return errWanted
	}
	if dice -= of.panicking; dice < 0 {
		p.oracle.failure(h.g, h.kind, pid)
		panic(errWanted)
	}
	if dice -= of.slow; dice < 0 {
		select {
		case <-time.After(time.Duration(p.random(int(2 * of.claimTimeout)))):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if dice -= of.standingOut; dice < 0 {
		time.Sleep(time.Duration(p.random(int(3 * of.claimTimeout))))
	}
	return nil
}

// called is a projection that runs at least once.
type called struct{}

func (called) name() string { return "called" }

func (called) once() bool { return false }

func (called) takes(string) bool { return true }

func (called) projection(h *handler) projection.Projection {
	return projection.AtLeastOnce("called", caller{h})
}

type caller struct{ *handler }

func (c caller) Handle(ctx context.Context, e dynajournal.Event) error {
	if err := c.start(ctx, e.PersistenceID); err != nil {
		return err
	}
	text, err := dynajournal.Decode[string](ctx, e)
	c.p.oracle.record(c.g, c.kind, e.PersistenceID, report{event, text, e.SequenceNumber, e.SequenceNumber})
	return err
}

func (c caller) HandleGap(ctx context.Context, g projection.Gap) error {
	if err := c.start(ctx, g.PersistenceID); err != nil {
		return err
	}
	c.p.oracle.record(c.g, c.kind, g.PersistenceID, report{gap, "", g.First, g.Last})
	return nil
}

func (c caller) HandlePurge(ctx context.Context, p projection.Purge) error {
	if err := c.start(ctx, p.PersistenceID); err != nil {
		return err
	}
	c.p.oracle.record(c.g, c.kind, p.PersistenceID, report{purged, "", p.Last, p.Offset})
	return nil
}

// batcher handles several events in one call, and may fail between them.
type batcher struct{ caller }

func (b batcher) HandleBatch(ctx context.Context, events []dynajournal.Event) error {
	for _, e := range events {
		if err := b.Handle(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// tagged is a projection that runs at least once, in batches, for the events that have a tag.
type tagged struct{}

func (tagged) name() string { return "tagged" }

func (tagged) once() bool { return false }

func (tagged) takes(text string) bool { return len(tagsOf(text)) > 0 }

func (tagged) projection(h *handler) projection.Projection {
	return projection.AtLeastOnce("tagged", batcher{caller{h}}, projection.OnlyTags("some"))
}

// tagsOf returns the tags of an event: one event in three has a tag. Events of the JVM have no
// tags.
func tagsOf(text string) []string {
	if strings.HasSuffix(text, ofJVM) {
		return nil
	}
	if sum := crc32.ChecksumIEEE([]byte(text)); sum%3 == 0 {
		return []string{"some", "other"}
	}
	return nil
}

// effects is a transactional projection. It overwrites an item of each persistence id with each
// event, gap or purge. The stream of the table has them in order.
type effects struct{}

func (effects) name() string { return "effects" }

func (effects) once() bool { return true }

func (effects) takes(string) bool { return true }

func (effects) projection(h *handler) projection.Projection {
	return projection.Transactional("effects", transactor{h})
}

type transactor struct{ *handler }

func (t transactor) Handle(ctx context.Context, e dynajournal.Event) ([]types.TransactWriteItem, error) {
	text, err := dynajournal.Decode[string](ctx, e)
	if err != nil {
		return nil, err
	}
	return t.put(ctx, e.PersistenceID, report{event, text, e.SequenceNumber, e.SequenceNumber})
}

func (t transactor) HandleGap(ctx context.Context, g projection.Gap) ([]types.TransactWriteItem, error) {
	return t.put(ctx, g.PersistenceID, report{gap, "", g.First, g.Last})
}

func (t transactor) HandlePurge(ctx context.Context, p projection.Purge) ([]types.TransactWriteItem, error) {
	return t.put(ctx, p.PersistenceID, report{purged, "", p.Last, p.Offset})
}

func (t transactor) put(ctx context.Context, pid string, what report) ([]types.TransactWriteItem, error) {
	if err := t.start(ctx, pid); err != nil {
		return nil, err
	}
	return effect(effectKey(t.g, t.kind, pid), what), nil
}

// effect returns the change of an item. Each change raises a number, so that the stream has a
// record of it.
func effect(key string, what report) []types.TransactWriteItem {
	return []types.TransactWriteItem{{Update: &types.Update{
		TableName:                aws.String(effectsTable),
		Key:                      map[string]types.AttributeValue{"id": text(key)},
		UpdateExpression:         aws.String("SET told = :told, #first = :first, #last = :last, what = :what ADD times :one"),
		ExpressionAttributeNames: map[string]string{"#first": "first", "#last": "last"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":told": text(what.text), ":first": number(what.first), ":last": number(what.last), ":what": number(int64(what.what)),
			":one": number(1),
		},
	}}}
}

func effectKey(g int, k kind, pid string) string {
	return fmt.Sprintf("%s/%s/%s", groupName(g), k.name(), pid)
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func numberOf(v types.AttributeValue) int64 {
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	i, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		panic(err)
	}
	return i
}
