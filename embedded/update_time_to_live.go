package embedded

// updateTimeToLive sets or removes the attribute that contains the expiry of a table's items.
// Unlike in the service, the change takes effect at once.
//
// It checks, in this order:
//  1. the model
//  2. the table, and that it is not strongly consistent in several Regions
//  3. that the request changes something, and that it disables the attribute that is in use
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTimeToLive.html
func (e *Engine) updateTimeToLive(c *call) error {
	var in updateTimeToLiveInput
	if err := decode(c.body, in.read); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	t, err := e.exclusive(*in.tableName)
	if err != nil {
		return err
	}
	defer t.lock.Unlock()
	name := ""
	switch {
	case t.Replication.strong():
		return invalid("TimeToLive is not supported on a table with multi-Region strong consistency")
	case *in.enabled && t.TimeToLive != "":
		return invalid("TimeToLive is already enabled")
	case !*in.enabled && t.TimeToLive == "":
		return invalid("TimeToLive is already disabled")
	case !*in.enabled && t.TimeToLive != *in.attribute:
		return invalid("TimeToLive is active on a different AttributeName: current AttributeName is %s", t.TimeToLive)
	case *in.enabled:
		name = *in.attribute
	}
	if err := e.changeSchema(t, func(s *schema) { s.TimeToLive = name }); err != nil {
		return err
	}
	if name != "" {
		e.startSweeper()
	}
	return c.respond(object{"TimeToLiveSpecification": object{
		"Enabled": *in.enabled, "AttributeName": *in.attribute,
	}})
}

type updateTimeToLiveInput struct {
	tableName *string
	given     bool
	enabled   *bool
	attribute *string
}

func (in *updateTimeToLiveInput) read(name string, r *decoder) {
	switch name {
	case "TableName":
		in.tableName = r.text()
	case "TimeToLiveSpecification":
		in.given = r.structure("TimeToLiveSpecification", func(name string) {
			switch name {
			case "Enabled":
				in.enabled = r.boolean()
			case "AttributeName":
				in.attribute = r.text()
			default:
				r.skip()
			}
		})
	default:
		r.skip()
	}
}

func (in *updateTimeToLiveInput) check() error {
	var c constraints
	c.requiredName(in.tableName, "tableName")
	c.required(in.given, "timeToLiveSpecification")
	if in.given {
		c.required(has(in.enabled), "timeToLiveSpecification.enabled")
		c.required(has(in.attribute), "timeToLiveSpecification.attributeName")
		if in.attribute != nil {
			c.length(len(*in.attribute), *in.attribute, "timeToLiveSpecification.attributeName", 1, maxNameLength)
		}
	}
	return c.err()
}
