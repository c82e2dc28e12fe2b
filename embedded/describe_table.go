package embedded

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
	return c.respond(object{"Table": t.describe(t.status())})
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
