package embedded

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/storage"
)

// updateTable changes the settings of a table, and creates, changes and deletes global indexes. A
// new index is backfilled while the table is in use, and serves no reads until it is ACTIVE. All
// other changes take effect before the response is sent, although it has the status UPDATING, as in
// the service.
//
// It checks, in this order:
//  1. that TableName is given, and its length
//  2. the model
//  3. that the request changes something, and that BillingMode PROVISIONED has a throughput
//  4. that each index update is exactly one of Create, Update and Delete, that no index is given
//     twice, and that at most one index is created or deleted
//  5. the table
//  6. the throughput against the billing mode, that a request with only a throughput changes it,
//     and that a request that makes the table provisioned has a throughput for each global index
//  7. ReplicaUpdates and MultiRegionConsistency
//  8. StreamSpecification
//  9. for each index update: the index, its throughput, and for a new index the number of indexes,
//     the attribute definitions and the keys. An index is not created while another is backfilled.
//
// SSESpecification, OnDemandThroughput and replicas are stored and described, but have no effect,
// except that strongly consistent replicas forbid the same features as in the service.
// WarmThroughput is ignored.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html
func (e *Engine) updateTable(c *call) error {
	var in updateTableInput
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
	next, err := in.apply(t, e.now().UnixMilli())
	if err != nil {
		return err
	}
	switched := t.Billing != next.Billing
	if err := e.changeStream(t, next, in.stream); err != nil {
		return err
	}
	if switched {
		t.limits.restart()
	}
	for _, i := range t.Indexes {
		if i.Status == statusCreating {
			e.startBackfill(t, i)
		}
	}
	return c.respond(object{"TableDescription": t.describe(statusUpdating, e.now().UnixMilli())})
}

// indexUpdate is an element of GlobalSecondaryIndexUpdates. Members that are not given are nil.
type indexUpdate struct {
	create *indexParameter
	update *indexParameter
	remove *indexParameter
}

type updateTableInput struct {
	tableName  *string
	attributes []attributeParameter
	billing    *string
	throughput *throughputParameter
	indexes    []indexUpdate
	protected  *bool
	class      *string
	settings   settingsParameter
	replicas   replicationParameter
	stream     *streamParameter
}

func (in *updateTableInput) read(name string, r *decoder) {
	switch name {
	case "TableName":
		in.tableName = r.text()
	case "AttributeDefinitions":
		in.attributes = r.attributeDefinitions()
	case "BillingMode":
		in.billing = r.text()
	case "ProvisionedThroughput":
		in.throughput = r.throughput()
	case "GlobalSecondaryIndexUpdates":
		in.indexes = r.indexUpdates()
	case "DeletionProtectionEnabled":
		in.protected = r.boolean()
	case "TableClass":
		in.class = r.text()
	case "StreamSpecification":
		in.stream = r.streamSpecification()
	default:
		if !in.settings.readMember(name, r) && !in.replicas.readMember(name, r) {
			r.skip()
		}
	}
}

func (r *decoder) indexUpdates() []indexUpdate {
	updates := []indexUpdate{}
	given := r.list(func() {
		var u indexUpdate
		r.structure("GlobalSecondaryIndexUpdate", func(name string) {
			switch name {
			case "Create":
				i := r.index("CreateGlobalSecondaryIndexAction")
				u.create = &i
			case "Update":
				i := r.index("UpdateGlobalSecondaryIndexAction")
				u.update = &i
			case "Delete":
				i := r.index("DeleteGlobalSecondaryIndexAction")
				u.remove = &i
			default:
				r.skip()
			}
		})
		updates = append(updates, u)
	})
	if !given {
		return nil
	}
	return updates
}

func (in *updateTableInput) check() error {
	if err := managedName(in.tableName); err != nil {
		return err
	}
	var c constraints
	c.attributeDefinitions(in.attributes)
	c.name(in.tableName, "tableName")
	c.oneOf(in.billing, "billingMode", billingProvisioned, billingOnDemand)
	c.throughput(in.throughput, "provisionedThroughput")
	for i, u := range in.indexes {
		member := "globalSecondaryIndexUpdates." + strconv.Itoa(i+1) + ".member."
		if u.create != nil {
			c.index(*u.create, member+"create", anyKey)
		}
		if u.update != nil {
			c.required(has(u.update.name), member+"update.indexName")
			c.name(u.update.name, member+"update.indexName")
			c.required(has(u.update.throughput), member+"update.provisionedThroughput")
			c.throughput(u.update.throughput, member+"update.provisionedThroughput")
		}
		if u.remove != nil {
			c.required(has(u.remove.name), member+"delete.indexName")
			c.name(u.remove.name, member+"delete.indexName")
		}
	}
	c.tableClass(in.class)
	c.replication(in.replicas)
	c.streamSpecification(in.stream)
	if err := c.err(); err != nil {
		return err
	}
	return in.checkUpdates()
}

func (in *updateTableInput) checkUpdates() error {
	if in.billing == nil && in.throughput == nil && len(in.indexes) == 0 && in.protected == nil && in.class == nil &&
		!in.settings.given() && !in.replicas.given() && in.stream == nil {
		return invalid("At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates " +
			"or SSESpecification or ReplicaUpdates is required")
	}
	if or(in.billing, "") == billingProvisioned && in.throughput == nil {
		return invalid(invalidParameters + "ProvisionedThroughput must be specified when BillingMode is PROVISIONED")
	}
	seen := map[string]bool{}
	online := 0
	for _, u := range in.indexes {
		var named []*indexParameter
		for _, p := range []*indexParameter{u.create, u.update, u.remove} {
			if p != nil {
				named = append(named, p)
			}
		}
		if len(named) == 0 {
			return invalid(invalidParameters + "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, " +
				"GlobalSecondaryIndexUpdate.Delete must not be null")
		}
		if len(named) > 1 {
			return invalid(invalidParameters + "One of Create, Update or Delete must be specified for each " +
				"GlobalSecondaryIndexUpdate")
		}
		if name := *named[0].name; seen[name] {
			return invalid(invalidParameters+"Only one global secondary index update per index is allowed simultaneously. "+
				"Index: %s", name)
		}
		seen[*named[0].name] = true
		if u.update == nil {
			online++
		}
	}
	if online > 1 {
		return dynamoError("LimitExceededException",
			"Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table")
	}
	return nil
}

// apply returns the new schema of the table.
func (in *updateTableInput) apply(t *table, now int64) (*schema, error) {
	next := *t.schema
	next.Items, next.Bytes = t.items.Load(), t.bytes.Load()
	next.Indexes = slices.Clone(next.Indexes)
	if in.protected != nil {
		next.Protected = *in.protected
	}
	if in.class != nil {
		next.Class = *in.class
	}
	if err := in.setBilling(&next, now); err != nil {
		return nil, err
	}
	if err := in.checkIndexThroughputs(t.schema, &next); err != nil {
		return nil, err
	}
	in.settings.apply(&next.Settings)
	if err := in.replicas.apply(&next); err != nil {
		return nil, err
	}
	if err := in.checkStream(t); err != nil {
		return nil, err
	}
	for _, u := range in.indexes {
		if err := in.updateIndex(&next, u, t.Billing == next.Billing, now); err != nil {
			return nil, err
		}
	}
	next.forgetUnused()
	return &next, nil
}

func (in *updateTableInput) setBilling(s *schema, now int64) error {
	mode := or(in.billing, s.Billing)
	if mode == billingOnDemand {
		if in.throughput != nil {
			return invalid(invalidParameters + throughputOnDemand)
		}
		if s.Billing != mode {
			s.becomeOnDemand(now)
		}
		return nil
	}
	if in.throughput == nil {
		return nil
	}
	wanted, err := in.throughput.checked()
	if err != nil {
		return err
	}
	if s.Billing == mode && s.Throughput == wanted && len(in.indexes) == 0 && in.protected == nil && in.class == nil {
		return invalid("The provisioned throughput for the table will not change. The requested value equals the current "+
			"value. Current ReadCapacityUnits provisioned for the table: %d. Requested ReadCapacityUnits: %d. Current "+
			"WriteCapacityUnits provisioned for the table: %d. Requested WriteCapacityUnits: %d. Refer to the Amazon DynamoDB "+
			"Developer Guide for current limits and how to request higher limits.",
			s.Throughput.Read, wanted.Read, s.Throughput.Write, wanted.Write)
	}
	if s.Billing == mode {
		s.ThroughputChanges = s.ThroughputChanges.after(s.Throughput, wanted, now)
	}
	s.Billing, s.Throughput = mode, wanted
	return nil
}

// becomeOnDemand switches a provisioned table to on-demand. Neither the table nor an index has
// provisioned units any more.
func (s *schema) becomeOnDemand(now int64) {
	s.Billing, s.OnDemandAt, s.Throughput = billingOnDemand, now, throughput{}
	for at, i := range s.Indexes {
		if i.Local {
			continue
		}
		changed := *i
		changed.ThroughputChanges = i.ThroughputChanges.after(i.Throughput, throughput{}, now)
		changed.Throughput = throughput{}
		s.Indexes[at] = &changed
	}
}

// checkIndexThroughputs checks that a request that makes a table provisioned has a throughput for
// each global index, except for indexes that it deletes.
func (in *updateTableInput) checkIndexThroughputs(old, next *schema) error {
	if old.Billing == next.Billing || next.Billing != billingProvisioned {
		return nil
	}
	var missing []string
	for _, i := range old.Indexes {
		given := slices.ContainsFunc(in.indexes, func(u indexUpdate) bool {
			return u.update != nil && *u.update.name == i.Name || u.remove != nil && *u.remove.name == i.Name
		})
		if !i.Local && !given {
			missing = append(missing, i.Name)
		}
	}
	if len(missing) > 0 {
		return invalid(invalidParameters+"ProvisionedThroughput must be specified for index: %s", strings.Join(missing, ","))
	}
	return nil
}

// updateIndex creates, changes or deletes an index. counted is set if the request does not switch
// the billing mode, so that a change of the index's throughput is recorded.
func (in *updateTableInput) updateIndex(s *schema, u indexUpdate, counted bool, now int64) error {
	switch {
	case u.create != nil:
		return in.createIndex(s, *u.create)
	case u.update != nil:
		at := s.globalIndex(*u.update.name)
		if at < 0 {
			return notFound(tableNotFound)
		}
		changed := *s.Indexes[at]
		if err := s.setIndexThroughput(&changed, u.update.throughput); err != nil {
			return err
		}
		if counted {
			changed.ThroughputChanges = changed.ThroughputChanges.after(s.Indexes[at].Throughput, changed.Throughput, now)
		}
		s.Indexes[at] = &changed
		return nil
	}
	at := s.globalIndex(*u.remove.name)
	if at < 0 {
		return notFound(tableNotFound)
	}
	s.Indexes = slices.Delete(s.Indexes, at, at+1)
	return nil
}

func (s *schema) globalIndex(name string) int {
	return slices.IndexFunc(s.Indexes, func(i *index) bool { return i.Name == name && !i.Local })
}

func (in *updateTableInput) createIndex(s *schema, p indexParameter) error {
	if s.index(*p.name) != nil {
		return invalid("Attempting to create an index which already exists")
	}
	global := 0
	for _, i := range s.Indexes {
		if !i.Local {
			global++
		}
		if i.Status == statusCreating {
			return inUse("Attempt to change a resource which is still in use: Table is being updated: " + s.Name)
		}
	}
	if global >= maxGlobalIndexes {
		return invalid(invalidParameters + "GlobalSecondaryIndex count exceeds the per-table limit of 20")
	}
	d, err := makeDefinitions(in.attributes)
	if err != nil {
		return err
	}
	i, err := d.index(p, d.globalKey)
	if err != nil {
		return err
	}
	if err := s.setIndexThroughput(i, p.throughput); err != nil {
		return err
	}
	if err := s.define(d, i.Key); err != nil {
		return err
	}
	i.Status = statusCreating
	return s.addIndex(i)
}

// define adds the attributes of an index's key to the schema.
func (s *schema) define(d definitions, key indexKey) error {
	kinds := make(map[string]attribute.Kind, len(s.Kinds)+len(d.kinds))
	maps.Copy(kinds, s.Kinds)
	s.Attributes = slices.Clone(s.Attributes)
	for _, name := range key.names() {
		if present := kinds[name]; present != 0 && present != d.kinds[name] {
			return invalid(invalidParameters+"Attributes cannot be redefined. Please check that your attribute has the same type "+
				"as previously defined. Existing schema: Schema:[SchemaElement: key{%[1]s:%[2]s}] New schema: "+
				"Schema:[SchemaElement: key{%[1]s:%[3]s}]", name, present, d.kinds[name])
		}
		if kinds[name] == 0 {
			s.Attributes = append(s.Attributes, name)
		}
		kinds[name] = d.kinds[name]
	}
	s.Kinds = kinds
	return nil
}

// forgetUnused removes the attributes that no key uses.
func (s *schema) forgetUnused() {
	used := func(name string) bool {
		return s.isKey(name) || slices.ContainsFunc(s.Indexes, func(i *index) bool { return i.Key.has(name) })
	}
	kinds := map[string]attribute.Kind{}
	var names []string
	for _, name := range s.Attributes {
		if used(name) {
			kinds[name] = s.Kinds[name]
			names = append(names, name)
		}
	}
	s.Kinds, s.Attributes = kinds, names
}

// droppedIndexes returns a function that adds to a batch the removal of the entries of the indexes
// that the next schema does not have.
func (t *table) droppedIndexes(next *schema) func(*storage.Batch) {
	var gone []*index
	for _, i := range t.Indexes {
		if next.index(i.Name) == nil {
			gone = append(gone, i)
		}
	}
	return func(batch *storage.Batch) {
		for _, i := range gone {
			batch.DeleteRange(itemPrefix(nil, t.ID, i.ID), itemPrefix(nil, t.ID, i.ID+1))
		}
	}
}
