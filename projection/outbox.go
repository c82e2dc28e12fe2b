package projection

import (
	"context"

	"github.com/dynajournal/dynajournal"
)

// Message is a message of an [Outbox] to another system.
type Message struct {
	// ID is the idempotency key: 64 hexadecimal digits. The group sets it. It is the same each time
	// the message is sent, and no other message has it: it is made of the names of the journal and
	// the projection, the persistence id, the sequence number and the writer of the event, and the
	// place among the messages of the event. So it is another one when a persistence id was purged
	// and is used again.
	ID string `json:"id"`
	// PersistenceID and SequenceNumber are those of the event. The group sets them.
	PersistenceID  string `json:"pid"`
	SequenceNumber int64  `json:"seq"`

	// Topic is the destination, for targets that have several. At most 256 bytes of UTF-8.
	Topic string `json:"topic,omitempty"`
	// Headers are texts beside the body. A name has letters, digits, hyphens, underscores and dots,
	// at most 64. A value is UTF-8, and may have any character: a target must encode it as its
	// protocol needs.
	Headers map[string]string `json:"headers,omitempty"`
	// Body is the content.
	Body []byte `json:"body,omitempty"`
}

// Target sends messages to another system. It is safe for concurrent use. [HTTPTarget] is one.
type Target interface {
	// Send sends a message, and returns when the system has it. It must return when ctx ends. It is
	// called again with the same message after a crash or an error.
	//
	// An error that is [ErrRefused] means that the system will never take this message: it becomes
	// a dead letter. After any other error the message is sent again, with growing pauses, until
	// the system takes or refuses it.
	Send(ctx context.Context, message Message) error
}

// TargetFunc is a Target that is a function.
type TargetFunc func(ctx context.Context, message Message) error

// Send calls the function.
func (f TargetFunc) Send(ctx context.Context, message Message) error { return f(ctx, message) }

// MessageFunc makes the messages of an event: their topics, headers and bodies, at most 100, and
// together at most 300 KiB as JSON, where a body takes a third more. It must have no effects of its
// own. An error, a panic or messages that are not valid ([ErrInvalidMessage]) are a failure of the
// handler: the persistence id is stuck after Config.Attempts.
type MessageFunc func(ctx context.Context, event dynajournal.Event) ([]Message, error)

// outbox is what an Outbox does with events.
type outbox struct {
	target Target
	make   MessageFunc
}

// Outbox returns a projection that sends messages of events to another system, each at least once.
// Name is that of [AtLeastOnce].
//
// The messages of a persistence id are sent one after the other, in the order of its events. If one
// is refused, it is stored as a dead letter before the offset moves, and those behind it are sent:
// see [DeadLetters]. While the target can't be reached, persistence ids wait, and none becomes
// stuck. The offset is stored when the messages of an event are sent; after a crash they are sent
// again, with the same ids. All messages of one event must be sent within a third of
// Config.ClaimTimeout, or they are sent again and again.
//
// After a crash the function is called again for an event. If it may then return something else,
// use [MakeOnce].
func Outbox(name string, target Target, messages MessageFunc, opts ...Option) Projection {
	return Projection{name: name, kind: &outbox{target, messages}}.with(opts)
}

// MakeOnce is an option of [Outbox] with which the messages of an event are stored before the first
// of them is sent, and are removed in the write that moves the offset. So what is sent of an event
// is the result of one call of the function, whatever crashes. It costs 1 request, and 1 write unit
// for each KB of the row with the messages, at least one; the other writes of the row cost as much.
func MakeOnce() Option { return func(p *Projection) { p.makeOnce = true } }

func (*outbox) delivery() string { return kindAtLeastOnce }

func (o *outbox) check(projection string) error {
	switch {
	case o.target == nil:
		return argument("projection "+projection, nil, "it needs a target")
	case o.make == nil:
		return argument("projection "+projection, nil, "it needs a function that makes messages")
	}
	return nil
}

func (o *outbox) open(*Group, *member) (effect, offsetStore) { return o, rowOffsets{} }

func (o *outbox) apply(ctx context.Context, r *run, state *row, steps []step) (bool, error) {
	return r.underClaim(ctx, o, state, steps)
}

func (*outbox) writes([]step) (requests, units int) { return claimWrites, claimWrites }

// together returns 1: the messages of an event are sent before the messages of the next event are
// made.
func (*outbox) together([]step) int { return 1 }

// handle sends the messages of a step. Gaps and purges have none.
func (o *outbox) handle(ctx context.Context, r *run, steps []step, state *row, before offset) error {
	if steps[0].event == nil {
		return nil
	}
	return o.send(ctx, r, &steps[0], state, before)
}
