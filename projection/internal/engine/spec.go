package engine

// Spec is the definition of a projection by a program.
type Spec struct {
	// inGroup is the name of the projection within its group.
	inGroup string
	// kind has the handler. It is nil in the zero value.
	kind Kind
	// Only selects the persistence ids and events that the projection takes.
	Only Filter
	// MakeOnce reports whether an outbox stores messages before it sends them.
	MakeOnce bool
	// FromNow reports whether the projection starts after the existing events.
	FromNow bool
}

// check checks the name, the handler and the options.
func (p *Spec) check() error {
	if err := CheckName("the name of a projection", p.inGroup); err != nil {
		return err
	}
	if p.kind == nil {
		return NoHandler(p.inGroup)
	}
	if _, sends := p.kind.(Sender); p.MakeOnce && !sends {
		return Argument("projection "+p.inGroup, nil, "MakeOnce is an option of an outbox")
	}
	if err := p.kind.Check(p.inGroup); err != nil {
		return err
	}
	return p.Only.check(p.inGroup)
}

// NoHandler returns the error for a projection without a handler.
func NoHandler(projection string) error {
	return Argument("projection "+projection, nil, "it needs a handler")
}
