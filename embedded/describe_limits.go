package embedded

// describeLimits returns the default quotas of the service, which the engine does not enforce. It
// checks nothing.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeLimits.html
func (e *Engine) describeLimits(c *call) error {
	if err := decode(c.body, func(_ string, r *decoder) { r.skip() }); err != nil {
		return err
	}
	return c.respond(object{
		"AccountMaxReadCapacityUnits":  80000,
		"AccountMaxWriteCapacityUnits": 80000,
		"TableMaxReadCapacityUnits":    40000,
		"TableMaxWriteCapacityUnits":   40000,
	})
}
