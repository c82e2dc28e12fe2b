package embedded

// describeTable describes a table. Its status is ACTIVE, or UPDATING while an index is backfilled.
//
// It checks, in this order:
//  1. that TableName is given, its length, and the model
//  2. the table
//
// Unlike in the service, ItemCount and TableSizeBytes are up to date, but may be slightly wrong
// after a crash. For indexes they are 0.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTable.html
func (e *Engine) describeTable(c *call) error {
	name, err := c.decodeTable()
	if err != nil {
		return err
	}
	t, release, err := e.described(c, name)
	if err != nil {
		return err
	}
	defer release()
	return c.respond(object{"Table": t.describe(t.status(), e.now().UnixMilli())})
}

// described returns the table that a request describes: the present table, or a past state of it
// because of a fault. The caller calls release.
func (e *Engine) described(c *call, name string) (t *table, release func(), err error) {
	missing := notFound("Requested resource not found: Table: " + tableName(name) + " not found")
	if c.faulty(EffectStaleDescription) && c.fault.stale != nil {
		s, err := storedSchema(c.fault.stale.Reader, tableName(name))
		if err != nil {
			return nil, nil, err
		}
		if s == nil {
			return nil, nil, missing
		}
		t = &table{schema: s}
		t.items.Store(s.Items)
		t.bytes.Store(s.Bytes)
		return t, func() {}, nil
	}
	if t, err = e.shared(name); err != nil {
		return nil, nil, missing
	}
	return t, t.lock.RUnlock, nil
}

type tableInput struct{ tableName *string }

func (in *tableInput) read(name string, r *decoder) {
	if name == "TableName" {
		in.tableName = r.text()
		return
	}
	r.skip()
}

// decodeTable decodes a request whose only parameter is the table.
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

// status returns UPDATING while an index is being created, otherwise ACTIVE.
func (t *table) status() string {
	for _, i := range t.Indexes {
		if i.Status != statusActive {
			return statusUpdating
		}
	}
	return statusActive
}
