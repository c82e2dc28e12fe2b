// Package outbox has a projection that sends messages about events to another system, such as a
// queue or an HTTP service. Each message is sent at least once, and with the same id each time:
//
//	target, err := outbox.NewHTTPTarget("https://example.com/hook", outbox.HTTPOptions{})
//	if err != nil {
//		return err
//	}
//	group, err := projection.New(journal, projection.Config{Name: "billing"},
//		outbox.New("hook", target, messages))
//
// A message that the system refuses permanently becomes a dead letter: see [DeadLetters].
package outbox

import (
	"context"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Message is a message of an outbox to another system.
type Message struct {
	// ID is the idempotency key: 64 hexadecimal digits. The group sets it. It is the same each time
	// the message is sent, and no other message has it. It is a hash of the names of the journal
	// and the projection, the persistence id, the sequence number and the writer of the event, and
	// the place among the messages of the event. So it differs if a persistence id was purged and
	// is used again.
	ID string `json:"id"`
	// PersistenceID and SequenceNumber name the event. The group sets them.
	PersistenceID  string `json:"pid"`
	SequenceNumber int64  `json:"seq"`

	// Topic is the destination, for targets with several. At most 256 bytes of UTF-8.
	Topic string `json:"topic,omitempty"`
	// Headers are texts that are sent with the body. A name has 1 to 64 letters, digits, hyphens,
	// underscores and dots. A value is UTF-8 with any characters: a target must encode it as its
	// protocol requires.
	Headers map[string]string `json:"headers,omitempty"`
	// Body is the content.
	Body []byte `json:"body,omitempty"`
}

// Target sends messages to another system. It must be safe for concurrent use. [HTTPTarget] is one.
type Target interface {
	// Send sends a message, and returns when the system has received it. It must return when ctx
	// ends. It is called again with the same message after a crash or an error.
	//
	// An error that is [ErrRefused] means that the system will never accept this message: it
	// becomes a dead letter. After any other error the message is sent again, with growing pauses,
	// until the system accepts or refuses it.
	Send(ctx context.Context, message Message) error
}

// TargetFunc is a Target that is a function.
type TargetFunc func(ctx context.Context, message Message) error

// Send calls the function.
func (f TargetFunc) Send(ctx context.Context, message Message) error { return f(ctx, message) }

// MessageFunc makes the messages of an event: their topics, headers and bodies. It returns at most
// 100 messages, and together at most 300 KiB as JSON, in which a body takes a third more. It must
// have no effects of its own. An error, a panic or invalid messages ([ErrInvalidMessage]) count as
// a failure of the handler: the persistence id becomes stuck after Config.Attempts and
// Config.StuckAfter.
type MessageFunc func(ctx context.Context, event dynajournal.Event) ([]Message, error)

// outbox is the effect of a projection of [New].
type outbox struct {
	target Target
	make   MessageFunc
}

// New returns a projection that sends messages about events to another system, each at least once.
// The name is as for [projection.AtLeastOnce].
//
// The messages of a persistence id are sent one at a time, in the order of its events. A refused
// message is stored as a dead letter before the offset moves, and the messages after it are sent:
// see [DeadLetters]. While the target can't be reached, persistence ids wait, but do not become
// stuck. The offset is stored when the messages of an event are sent; after a crash they are sent
// again, with the same ids. All messages of one event must be sent within a third of
// Config.ClaimTimeout, or they are sent again and again.
//
// After a crash the function is called again for an event. If it may then return different
// messages, use [MakeOnce].
func New(name string, target Target, messages MessageFunc, opts ...projection.Option) projection.Projection {
	return engine.Define[projection.Projection](name, &outbox{target, messages}, opts)
}

// MakeOnce makes an outbox of [New] store the messages of an event before it sends the first one.
// The write that moves the offset removes them. So the messages of an event come from a single call
// of the function, even after a crash. It costs 1 request, and 1 write unit for each KB of the row
// with the messages, at least one. Other writes of the row cost as much while it has messages.
func MakeOnce() projection.Option {
	return func(p *projection.Projection) { engine.SpecOf(p).MakeOnce = true }
}

func (*outbox) Delivery() string { return engine.KindAtLeastOnce }

func (o *outbox) Check(name string) error {
	switch {
	case o.target == nil:
		return engine.Argument("projection "+name, nil, "it needs a target")
	case o.make == nil:
		return engine.Argument("projection "+name, nil, "it needs a function that makes messages")
	}
	return nil
}

func (o *outbox) Open(*engine.Group, *engine.Member) (engine.Effect, engine.OffsetStore) {
	return o, engine.RowOffsets{}
}

func (o *outbox) Apply(ctx context.Context, r *engine.Run, state *engine.Row, steps []engine.Step) (bool, error) {
	return r.UnderClaim(ctx, o, state, steps)
}

func (*outbox) Writes([]engine.Step) (requests, units int) {
	return engine.ClaimWrites, engine.ClaimWrites
}

// Together returns 1: the messages of an event are sent before the messages of the next event are
// made.
func (*outbox) Together([]engine.Step) int { return 1 }

// Handle sends the messages of a step. Gaps and purges do not have any.
func (o *outbox) Handle(ctx context.Context, r *engine.Run, steps []engine.Step, state *engine.Row, before engine.Offset) error {
	if steps[0].Event == nil {
		return nil
	}
	return o.send(ctx, r, &steps[0], state, before)
}
