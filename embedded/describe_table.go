package embedded

// describeTable describes a table. Its status is ACTIVE, or UPDATING while an index is backfilled.
//
// It checks, in this order:
//  1. that TableName is given, its length, and the model
//  2. the table
//
// ItemCount and TableSizeBytes are up to date, other than in the service, and may be a little off
// after a crash. Those of indexes are 0.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTable.html
func (e *Engine) describeTable(c *call) error {
	name, err := c.decodeTable()
	if err != nil {
		return err
	}
	t, err := e.shared(name)
	if err != nil {
		return notFound("Requested resource not found: Table: " + tableName(name) + " not found")
	}
	defer t.lock.RUnlock()
	return c.respond(object{"Table": t.describe(t.status(), e.now().UnixMilli())})
}

type tableInput struct{ tableName *string }

func (in *tableInput) read(name string, r *decoder) {
	if name == "TableName" {
		in.tableName = r.text()
		return
	}
	r.skip()
}

// decodeTable reads a request that has no parameter but the table.
func (c *call) decodeTable() (string, error) {
	var in tableInput
	if err := decode(c.body, in.read); err != nil {
		return "", err
	}
	if err := managedName(in.tableName); err != nil {
		return "", err
	}
	var k constraints
	k.name(in.tableName, "tableName")
	return or(in.tableName, ""), k.err()
}

// status is ACTIVE unless an index is being made.
func (t *table) status() string {
	for _, i := range t.Indexes {
		if i.Status != statusActive {
			return statusUpdating
		}
	}
	return statusActive
}
