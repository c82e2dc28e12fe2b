package engine

// Spec is a projection as a program defines it.
type Spec struct {
	// inGroup is its name in the group.
	inGroup string
	// kind has the handler. It is nil in the zero value.
	kind Kind
	Only Filter
	// MakeOnce reports whether an outbox stores messages before it sends them.
	MakeOnce bool
	// FromNow reports whether it begins after the events that there are.
	FromNow bool
}

// check checks the name and the handler.
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

// NoHandler is the error of a projection without a handler.
func NoHandler(projection string) error {
	return Argument("projection "+projection, nil, "it needs a handler")
}
