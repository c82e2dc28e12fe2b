package embedded

// describeTimeToLive returns the attribute that contains the expiry of a table's items, if one is
// set.
//
// It checks the model and then the table.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTimeToLive.html
func (e *Engine) describeTimeToLive(c *call) error {
	var in tableInput
	if err := decode(c.body, in.read); err != nil {
		return err
	}
	var k constraints
	k.requiredName(in.tableName, "tableName")
	if err := k.err(); err != nil {
		return err
	}
	t, release, err := e.described(c, *in.tableName)
	if err != nil {
		return err
	}
	defer release()
	description := object{"TimeToLiveStatus": "DISABLED"}
	if t.TimeToLive != "" {
		description = object{"TimeToLiveStatus": "ENABLED", "AttributeName": t.TimeToLive}
	}
	return c.respond(object{"TimeToLiveDescription": description})
}
