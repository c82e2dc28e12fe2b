package core

import (
	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/serialization"
)

// The types below are embedded, under an unexported alias, in types of the root package. They have
// no exported fields or methods, so users of the root package can't reach what they contain. Other
// packages of this module reach it with the functions of this file. The compiler checks these
// calls: a promoted unexported method satisfies an interface of this package.

// Handle is embedded in the root's Journal. E is the root's Event.
type Handle[E any] struct {
	journal *Journal
	public  func(Delivered) E
}

// NewHandle returns the handle of a journal. public makes the root's events.
func NewHandle[E any](j *Journal, public func(Delivered) E) Handle[E] { return Handle[E]{j, public} }

func (h *Handle[E]) opened() (*Journal, func(Delivered) E) { return h.journal, h.public }

// Opened is a *dynajournal.Journal.
type Opened[E any] interface {
	opened() (*Journal, func(Delivered) E)
}

// Of returns the Journal inside a *dynajournal.Journal.
func Of[E any](journal Opened[E]) *Journal {
	j, _ := journal.opened()
	return j
}

// WriterHandle is embedded in the root's Writer. It is a Writer by value: a process can have a
// writer for each of many thousand persistence ids.
type WriterHandle struct{ writer Writer }

// NewWriterHandle returns the handle of a writer.
func NewWriterHandle(w Writer) WriterHandle { return WriterHandle{w} }

func (h *WriterHandle) recovered() *Writer { return &h.writer }

// WriterIn returns the Writer in the root's own handle.
func WriterIn(h *WriterHandle) *Writer { return &h.writer }

// WriterOf returns the Writer inside a *dynajournal.Writer.
func WriterOf(writer interface{ recovered() *Writer }) *Writer { return writer.recovered() }

// EventParts is embedded in the root's Event.
type EventParts struct{ parts Parts }

// Parts has the data of an Event that its exported fields do not have.
type Parts struct {
	// Registry decodes the event.
	Registry *serialization.Registry
	// Decoded is the value of the event, if it was known when the event was read.
	Decoded *Decoded
	// Part is the index of the event among the events to which an upcaster or the adapter converts
	// the stored event.
	Part int
}

// Decoded is the value of an event, or the error of decoding or upcasting it.
type Decoded struct {
	Value any
	Err   error
}

// NewEventParts returns the parts of an event.
func NewEventParts(p Parts) EventParts { return EventParts{p} }

// PartsIn returns the parts of the root's own event. The event stays on the stack.
func PartsIn(e EventParts) Parts { return e.parts }

func (e *EventParts) inside() *Parts { return &e.parts }

// PartsOf returns the parts of a *dynajournal.Event.
func PartsOf(event interface{ inside() *Parts }) *Parts { return event.inside() }

// ConfigParts is embedded in the root's Config.
type ConfigParts struct{ clock *clock.Clock }

func (c *ConfigParts) times() **clock.Clock { return &c.clock }

// ClockIn returns the clock of the root's own Config.
func ClockIn(c *ConfigParts) **clock.Clock { return &c.clock }

// SetClock sets the clock of a *dynajournal.Config.
func SetClock(config interface{ times() **clock.Clock }, c *clock.Clock) { *config.times() = c }

// connecting makes the client of a *dynajournal.Config.
var connecting func(config any) (*dynamo.Client, error)

// RegisterConnect sets the function that makes the client of a configuration. The root package
// calls it once. A Config is a literal in the user's code, so it can't carry the function.
func RegisterConnect[C any](connect func(*C) (*dynamo.Client, error)) {
	connecting = func(config any) (*dynamo.Client, error) {
		return connect(config.(*C)) //nolint:forcetypeassert // Connect takes no other type
	}
}

// Connect fills in the defaults of a *dynajournal.Config, checks it, and returns the client that it
// describes. The caller closes the client. It sends nothing.
func Connect(config interface{ times() **clock.Clock }) (*dynamo.Client, error) {
	return connecting(config)
}
