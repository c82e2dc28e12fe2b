package embedded

// describeEndpoints answers with the host that the client used already.
func (e *Engine) describeEndpoints(c *call) error {
	if err := decode(c.body, func(_ string, r *decoder) { r.skip() }); err != nil {
		return err
	}
	return c.respond(object{"Endpoints": []object{{"Address": c.host, "CachePeriodInMinutes": 1440}}})
}
