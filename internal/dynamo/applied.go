package dynamo

// applied wraps the error of an operation that may have changed stored data.
type applied struct{ error }

func (e *applied) Unwrap() error { return e.error }

// MaybeApplied reports true.
func (*applied) MaybeApplied() bool { return true }

// Applied wraps err in an error whose method MaybeApplied returns true.
func Applied(err error) error { return &applied{err} }

// Mark returns err, the error of the operation that m measures. If a write of the operation was
// done or may have been done, Mark wraps err with [Applied].
func (m *Meter) Mark(err error) error {
	if err == nil || !m.wrote.Load() {
		return err
	}
	return Applied(err)
}

// Mark is [Meter.Mark] for an operation that uses the client alone. Changes of tables count as
// writes.
func (c *Client) Mark(err error) error { return c.writes.Mark(err) }

// recordWrite records that a write was done or may have been done. err is the result of the attempt
// to write.
func (c *Client) recordWrite(m *Meter, err error) {
	if err != nil && !judge(err).ambiguous {
		return
	}
	c.writes.wrote.Store(true)
	if m != nil {
		m.wrote.Store(true)
	}
}
