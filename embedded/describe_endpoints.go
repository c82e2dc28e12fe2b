package embedded

// describeEndpoints returns the host that the client has sent the request to. It checks nothing.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeEndpoints.html
func (e *Engine) describeEndpoints(c *call) error {
	if err := decode(c.body, func(_ string, r *decoder) { r.skip() }); err != nil {
		return err
	}
	return c.respond(object{"Endpoints": []object{{"Address": c.host, "CachePeriodInMinutes": 1440}}})
}
