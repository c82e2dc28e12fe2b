package embedded

import (
	"crypto/rand"
	"fmt"
)

const (
	maxLocalIndexes  = 5
	maxGlobalIndexes = 20
	maxThroughput    = 1_000_000_000_000
	// maxIncluded is the maximum number of attributes of all INCLUDE projections of a table
	// together.
	maxIncluded = 100

	throughputOnDemand = "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is " +
		"PAY_PER_REQUEST"
	throughputMissing = "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"
)

// createTable creates a table. The response has the status CREATING, as in the service, but the
// table can be used at once.
//
// It checks, in this order:
//  1. that TableName is given
//  2. the model
//  3. the throughput against the billing mode
//  4. StreamSpecification
//  5. the attribute definitions, the key schema, the local and then the global indexes, and that
//     keys use all definitions
//  6. the tags
//  7. that no table has the name
//
// The key of a global index has up to four HASH and up to four RANGE attributes. Other keys have at
// most one of each.
//
// SSESpecification and OnDemandThroughput are stored and described, but have no effect.
// ResourcePolicy and WarmThroughput are ignored.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html
func (e *Engine) createTable(c *call) error {
	var in createTableInput
	if err := decode(c.body, in.read); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	s, err := in.schema()
	if err != nil {
		return err
	}
	s.CreatedAt = e.now().UnixMilli()
	s.UUID = newUUID()
	if s.Billing == billingOnDemand {
		s.OnDemandAt = s.CreatedAt
	}

	e.tablesLock.Lock()
	defer e.tablesLock.Unlock()
	if e.tables[s.Name] != nil {
		return inUse("Table already exists: " + s.Name)
	}
	s.ID = e.nextTable
	made, save, err := e.enableStream(s, in.stream)
	if err != nil {
		return err
	}
	if err := e.saveSchema(s, save...); err != nil {
		return err
	}
	e.nextTable++
	t := e.newTable(s)
	if made != nil {
		t.stream = made
		e.showStream(made)
	}
	e.tables[s.Name] = t
	return c.respond(object{"TableDescription": t.describe(statusCreating, e.now().UnixMilli())})
}

type createTableInput struct {
	tableName  *string
	attributes []attributeParameter
	key        []keyParameter
	billing    *string
	throughput *throughputParameter
	local      []indexParameter
	global     []indexParameter
	protected  *bool
	class      *string
	tags       []tagParameter
	settings   settingsParameter
	stream     *streamParameter
}

func (in *createTableInput) read(name string, r *decoder) {
	switch name {
	case "TableName":
		in.tableName = r.text()
	case "AttributeDefinitions":
		in.attributes = r.attributeDefinitions()
	case "KeySchema":
		in.key = r.keySchema()
	case "BillingMode":
		in.billing = r.text()
	case "ProvisionedThroughput":
		in.throughput = r.throughput()
	case "LocalSecondaryIndexes":
		in.local = r.indexes("LocalSecondaryIndex")
	case "GlobalSecondaryIndexes":
		in.global = r.indexes("GlobalSecondaryIndex")
	case "DeletionProtectionEnabled":
		in.protected = r.boolean()
	case "TableClass":
		in.class = r.text()
	case "Tags":
		in.tags = r.tags()
	case "StreamSpecification":
		in.stream = r.streamSpecification()
	default:
		if !in.settings.readMember(name, r) {
			r.skip()
		}
	}
}

func (in *createTableInput) check() error {
	if in.tableName == nil {
		return managedName(nil)
	}
	var c constraints
	c.required(in.attributes != nil, "attributeDefinitions")
	c.attributeDefinitions(in.attributes)
	c.name(in.tableName, "tableName")
	c.oneOf(in.billing, "billingMode", billingProvisioned, billingOnDemand)
	c.throughput(in.throughput, "provisionedThroughput")
	c.keySchema(in.key, "keySchema", maxSimpleKey)
	c.indexes(in.global, "globalSecondaryIndexes", anyKey)
	c.indexes(in.local, "localSecondaryIndexes", maxSimpleKey)
	c.tableClass(in.class)
	c.tags(in.tags)
	c.streamSpecification(in.stream)
	return c.err()
}

func (c *constraints) tableClass(class *string) {
	c.oneOf(class, "tableClass", "STANDARD", "STANDARD_INFREQUENT_ACCESS")
}

// managedName checks the table name of a request that manages a table. It is called before the
// model is checked.
func managedName(name *string) error {
	if name == nil {
		return invalid("The parameter 'TableName' is required but was not present in the request")
	}
	if n := len(tableName(*name)); n < minNameLength || n > maxNameLength {
		return invalid("TableName must be at least 3 characters long and at most 255 characters long")
	}
	return nil
}

func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (in *createTableInput) schema() (*schema, error) {
	s := &schema{Name: tableName(*in.tableName), Protected: or(in.protected, false), Class: or(in.class, ""), NextIndex: 1}
	if err := in.setBilling(s); err != nil {
		return nil, err
	}
	in.settings.apply(&s.Settings)
	if err := in.stream.checkCreated(); err != nil {
		return nil, err
	}
	d, err := makeDefinitions(in.attributes)
	if err != nil {
		return nil, err
	}
	s.Attributes, s.Kinds = d.names, d.kinds
	if s.Key, err = d.tableKey(in.key, in.local != nil || in.global != nil); err != nil {
		return nil, err
	}
	if err = in.addLocal(s, d); err != nil {
		return nil, err
	}
	if err = in.addGlobal(s, d); err != nil {
		return nil, err
	}
	if err = d.used(s); err != nil {
		return nil, err
	}
	s.Tags, err = mergeTags(nil, in.tags)
	return s, err
}

func (in *createTableInput) setBilling(s *schema) error {
	s.Billing = or(in.billing, billingProvisioned)
	if s.Billing == billingOnDemand {
		if in.throughput != nil {
			return invalid(invalidParameters + throughputOnDemand)
		}
		return nil
	}
	if in.throughput == nil {
		return invalid(invalidParameters + throughputMissing)
	}
	var err error
	s.Throughput, err = in.throughput.checked()
	return err
}

func (t *throughputParameter) checked() (throughput, error) {
	if *t.read > maxThroughput {
		return throughput{}, invalid("Given value %d for ReadCapacityUnits is out of bounds", *t.read)
	}
	if *t.write > maxThroughput {
		return throughput{}, invalid("Given value %d for WriteCapacityUnits is out of bounds", *t.write)
	}
	return throughput{Read: *t.read, Write: *t.write}, nil
}

func (in *createTableInput) addLocal(s *schema, d definitions) error {
	if in.local == nil {
		return nil
	}
	switch {
	case len(in.local) == 0:
		return invalid(invalidParameters + "List of LocalSecondaryIndexes is empty")
	case s.Key.Range == "":
		return invalid(invalidParameters +
			"Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex")
	case len(in.local) > maxLocalIndexes:
		return invalid(invalidParameters + "Number of LocalSecondaryIndexes exceeds per-table limit of 5")
	}
	for _, p := range in.local {
		i, err := d.index(p, d.simpleKey)
		if err != nil {
			return err
		}
		if len(i.Key.Range) == 0 {
			return invalid(invalidParameters+"Index KeySchema does not have a range key for index: %s", i.Name)
		}
		if hash := i.Key.Hash[0]; hash != s.Key.Hash {
			return invalid(invalidParameters+"Index KeySchema does not have the same leading hash key as table KeySchema "+
				"for index: %s. index hash key: %s, table hash key: %s", i.Name, hash, s.Key.Hash)
		}
		i.Local = true
		if err := s.addIndex(i); err != nil {
			return err
		}
	}
	return nil
}

func (in *createTableInput) addGlobal(s *schema, d definitions) error {
	if in.global == nil {
		return nil
	}
	switch {
	case len(in.global) == 0:
		return invalid(invalidParameters + "List of GlobalSecondaryIndexes is empty")
	case len(in.global) > maxGlobalIndexes:
		return invalid(invalidParameters + "GlobalSecondaryIndex count exceeds the per-table limit of 20")
	}
	for _, p := range in.global {
		i, err := d.index(p, d.globalKey)
		if err != nil {
			return err
		}
		if err := s.setIndexThroughput(i, p.throughput); err != nil {
			return err
		}
		if err := s.addIndex(i); err != nil {
			return err
		}
	}
	return nil
}

// setIndexThroughput checks the throughput of an index against the table's billing mode, and sets
// it.
func (s *schema) setIndexThroughput(i *index, p *throughputParameter) error {
	switch {
	case s.Billing == billingOnDemand && p != nil:
		return invalid(invalidParameters+"ProvisionedThroughput should not be specified for index: %s when BillingMode is "+
			"PAY_PER_REQUEST", i.Name)
	case s.Billing == billingOnDemand:
		return nil
	case p == nil:
		return invalid(invalidParameters+"ProvisionedThroughput must be specified for index: %s", i.Name)
	}
	var err error
	i.Throughput, err = p.checked()
	return err
}

// addIndex assigns an id to the index and adds it.
func (s *schema) addIndex(i *index) error {
	if s.index(i.Name) != nil {
		return invalid(invalidParameters+"Duplicate index name: %s", i.Name)
	}
	included := len(i.Include)
	for _, other := range s.Indexes {
		included += len(other.Include)
	}
	if included > maxIncluded {
		return invalid(invalidParameters + "Number of NonKeyAttributes across all indexes exceeds per-table limit of 100")
	}
	i.ID = s.NextIndex
	s.NextIndex++
	s.Indexes = append(s.Indexes, i)
	return nil
}
