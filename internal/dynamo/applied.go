package dynamo

// applied is an error of an operation that may have changed what is stored.
type applied struct{ error }

func (e *applied) Unwrap() error { return e.error }

// MaybeApplied reports true.
func (*applied) MaybeApplied() bool { return true }

// Applied returns err with a method MaybeApplied() bool, which returns true.
func Applied(err error) error { return &applied{err} }

// Mark returns the error of the operation that m is for. If a write of the operation was done or
// may have been done, the error is Applied.
func (m *Meter) Mark(err error) error {
	if err == nil || !m.wrote.Load() {
		return err
	}
	return Applied(err)
}

// Mark is Meter.Mark for an operation that has the client for itself. Changes of tables count as
// writes.
func (c *Client) Mark(err error) error { return c.writes.Mark(err) }

// note takes note of an attempt to change what is stored, which has succeeded or failed with err.
func (c *Client) note(m *Meter, err error) {
	if err != nil && !judge(err).ambiguous {
		return
	}
	c.writes.wrote.Store(true)
	if m != nil {
		m.wrote.Store(true)
	}
}
