package embedded

// describeLimits answers with DynamoDB's default quotas, which this engine does not impose.
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
