package embedded

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

const (
	maxBatchGet = 100
	// maxBatchGetBytes limits the bytes of items in a response. Further keys are unprocessed.
	maxBatchGetBytes = 16 << 20
	// maxPartitionGetBytes is the number of bytes of items after which no more keys of a partition
	// are read.
	maxPartitionGetBytes = 1 << 20
)

// batchGetItem returns up to 100 items by their keys.
//
// It checks, in this order:
//  1. that RequestItems is given
//  2. the model: the number of tables, their names, ReturnConsumedCapacity, and then for each table
//     Keys (1 to 100) and AttributesToGet
//  3. that no table has AttributesToGet if one has ProjectionExpression
//  4. for each table: that names are given only with an expression, that AttributesToGet names each
//     attribute once, the values of the keys, and the number of keys so far, at most 100
//  5. for each table: the placeholders and the projection
//  6. the tables
//  7. for each table: that the projection has no path into a key attribute, the keys against the
//     key schema, and that none is given twice
//  8. the throughput of each item
//
// Tables are processed in the order of their names. Keys are returned in UnprocessedKeys if their
// items do not fit into 16 MB, if 1 MB was read from their partition before them, if they are
// throttled, or because of a fault. If no key is read and one is throttled, the request is refused.
// A partition contains the items with one partition key: the smallest partition that the service
// can have.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
func (e *Engine) batchGetItem(c *call) error {
	var in batchGetItemInput
	if err := decode(c.body, in.read); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	projectors := map[string]projector{}
	for _, name := range in.names() {
		p, err := in.tables[name].bindProjection(e)
		if err != nil {
			return err
		}
		projectors[name] = p
	}
	tables, release, err := e.sharedAll(in.names())
	if err != nil {
		return err
	}
	defer release()
	keys := map[string][]itemKey{} // by table
	for _, name := range in.names() {
		if err := tables[name].checkPaths(projectors[name].expression); err != nil {
			return err
		}
		if keys[name], err = tables[name].distinctKeys(in.tables[name].keys); err != nil {
			return err
		}
	}
	b := &batchGet{engine: e, call: c, in: &in, tables: tables, unprocessed: map[string][]attribute.Item{}}
	c.out = append(c.out, `{"Responses":{`...)
	for i, name := range in.names() {
		c.out = separate(c.out, i)
		c.out = attribute.AppendText(c.out, name)
		c.out = append(c.out, ":["...)
		if c.out, err = b.appendItems(c.out, name, keys[name], projectors[name]); err != nil {
			return err
		}
		c.out = append(c.out, ']')
	}
	c.out = append(c.out, '}')
	return b.finish(c)
}

func (e *Engine) batchGetItemTargets(c *call) []target {
	var in batchGetItemInput
	if decode(c.body, in.read) != nil {
		return nil
	}
	var targets []target
	for _, name := range in.names() {
		for _, key := range in.tables[name].keys {
			targets = append(targets, e.itemTarget(&name, key.item).asRead(in.tables[name].consistent))
		}
	}
	return targets
}

// keysInput has the parameters of BatchGetItem for one table.
type keysInput struct {
	projectionInput

	keys       []itemParameter
	consistent *bool
	// raw is the JSON of the parameters, which is returned with unprocessed keys.
	raw []byte
}

func (in *keysInput) read(name string, r *decoder) {
	switch name {
	case "Keys":
		keys := []itemParameter{}
		if r.list(func() { keys = append(keys, r.item()) }) {
			in.keys = keys
		}
	case "ConsistentRead":
		in.consistent = r.boolean()
	default:
		in.projectionInput.read(name, r)
	}
}

type batchGetItemInput struct {
	tables map[string]*keysInput
	// raw is the JSON of RequestItems.
	raw          []byte
	showCapacity *string
}

func (in *batchGetItemInput) read(name string, r *decoder) {
	switch name {
	case "RequestItems":
		tables := map[string]*keysInput{}
		r.peek()
		all := r.pos
		given := r.mapping("com.amazonaws.dynamodb.v20120810.KeysAndAttributes", func(table string) {
			keys := new(keysInput)
			r.peek()
			start := r.pos
			r.structure("KeysAndAttributes", func(name string) { keys.read(name, r) })
			keys.raw = r.src[start:r.pos]
			tables[table] = keys
		})
		if given {
			in.tables, in.raw = tables, r.src[all:r.pos]
		}
	case "ReturnConsumedCapacity":
		in.showCapacity = r.text()
	default:
		r.skip()
	}
}

// names returns the tables in order, so that equal requests have equal responses.
func (in *batchGetItemInput) names() []string { return slices.Sorted(maps.Keys(in.tables)) }

func (in *batchGetItemInput) check() error {
	if in.tables == nil {
		return invalid("The requestItems parameter is required for BatchGetItem")
	}
	var c constraints
	c.memberLength(len(in.tables), "RequestItems", maxBatchGet)
	for _, name := range in.names() {
		c.mapKey(name, "requestItems", func() string { return string(in.raw) })
	}
	c.consumedCapacity(in.showCapacity)
	for _, name := range in.names() {
		keys := in.tables[name]
		member := "requestItems." + name + ".member."
		c.required(keys.keys != nil, member+"keys")
		if keys.keys != nil {
			c.memberLength(len(keys.keys), "RequestItems."+name+".member.Keys", maxBatchGet)
		}
		keys.constrain(&c, member+"attributesToGet")
	}
	if err := c.err(); err != nil {
		return err
	}
	var old, expressions bool
	for _, keys := range in.tables {
		old = old || keys.attributesToGet != nil
		expressions = expressions || has(keys.projection)
	}
	// DynamoDB refuses a mix even across tables.
	err := exclusive(givenNames(parameter{"AttributesToGet", old}), givenNames(parameter{"ProjectionExpression", expressions}))
	if err != nil {
		return err
	}
	count := 0
	for _, name := range in.names() {
		keys := in.tables[name]
		if err := keys.check(); err != nil {
			return err
		}
		if count += len(keys.keys); count > maxBatchGet {
			return invalid("Too many items requested for the BatchGetItem call")
		}
	}
	return nil
}

func (in *keysInput) check() error {
	if err := in.checkParameters(); err != nil {
		return err
	}
	if err := uniqueNames(in.attributesToGet); err != nil {
		return err
	}
	for _, key := range in.keys {
		if key.invalid != nil {
			return key.invalid
		}
	}
	return nil
}

// batchGet is the state of a BatchGetItem.
type batchGet struct {
	engine *Engine
	call   *call
	in     *batchGetItemInput
	tables map[string]*table
	bytes  int
	// unprocessed has the unprocessed keys by table.
	unprocessed map[string][]attribute.Item
	used        []consumption
	// done counts the keys that were read. throttled is the error if the last key was throttled.
	done      int
	throttled error
}

// itemKey has the storage key of an item. partition is the part of it that all items with the same
// hash key share.
type itemKey struct{ whole, partition string }

// distinctKeys checks the keys against the key schema, refuses duplicates, and returns the storage
// keys.
func (t *table) distinctKeys(keys []itemParameter) ([]itemKey, error) {
	buffer := takeBuffer()
	defer giveBuffer(buffer)
	all, seen := make([]itemKey, len(keys)), make(map[string]struct{}, len(keys))
	for i, key := range keys {
		if err := t.checkKey(key.item); err != nil {
			return nil, err
		}
		partition := t.appendPartition((*buffer)[:0], key.item)
		*buffer = t.appendRangeKey(partition, key.item)
		whole := string(*buffer)
		if _, duplicate := seen[whole]; duplicate {
			return nil, invalid("Provided list of item keys contains duplicates")
		}
		seen[whole] = struct{}{}
		all[i] = itemKey{whole, whole[:len(partition)]}
	}
	return all, nil
}

// appendItems appends the items of one table that fit into the response.
func (b *batchGet) appendItems(
	dst []byte, name string, keys []itemKey, project projector,
) (all []byte, err error) {
	t, in := b.tables[name], b.in.tables[name]
	used := consumption{table: t}
	key := takeBuffer()
	defer giveBuffer(key)
	n := 0
	partitions := map[string]int{} // bytes of items
	consistent := or(in.consistent, false)
	lookup, err := b.call.reader(b.engine, t, consistent).Lookup()
	if err != nil {
		return dst, fmt.Errorf("reading from %s: %w", t.Name, err)
	}
	defer func() { err = errors.Join(err, lookup.Close()) }()
	for i, parameter := range in.keys {
		partition := keys[i].partition
		if b.call.fault.hits(EffectUnprocessed) || b.bytes >= maxBatchGetBytes || partitions[partition] >= maxPartitionGetBytes {
			b.unprocessed[name] = append(b.unprocessed[name], parameter.item)
			continue
		}
		*key = append((*key)[:0], keys[i].whole...)
		before := len(dst)
		comma := ""
		if n > 0 {
			comma = ","
		}
		appended, size, exists, err := appendItemAt(dst, comma, lookup, *key, project)
		if err != nil {
			return dst, fmt.Errorf("reading from %s: %w", t.Name, err)
		}
		if b.bytes+size > maxBatchGetBytes {
			b.bytes = maxBatchGetBytes
			b.unprocessed[name] = append(b.unprocessed[name], parameter.item)
			dst = appended[:before]
			continue
		}
		units := readUnits(size, consistent)
		if b.throttled = t.takeRead(nil, *key, units); b.throttled != nil {
			b.unprocessed[name] = append(b.unprocessed[name], parameter.item)
			dst = appended[:before]
			continue
		}
		dst = appended
		b.bytes += size
		b.done++
		used.addRead(nil, units)
		if exists {
			n++
			partitions[partition] += size
		}
	}
	used.charge()
	b.used = append(b.used, used)
	return dst, nil
}

func (b *batchGet) finish(c *call) error {
	if b.done == 0 && b.throttled != nil {
		return b.throttled
	}
	c.out = appendName(c.out, "UnprocessedKeys")
	c.out = append(c.out, '{')
	n := 0
	for _, name := range b.in.names() {
		if len(b.unprocessed[name]) == 0 {
			continue
		}
		c.out = separate(c.out, n)
		c.out = attribute.AppendText(c.out, name)
		c.out = append(c.out, ':')
		var err error
		if c.out, err = appendUnprocessedKeys(c.out, b.in.tables[name].raw, b.unprocessed[name]); err != nil {
			return err
		}
		n++
	}
	c.out = append(c.out, '}')
	c.appendCapacities(b.used, b.in.showCapacity)
	c.out = append(c.out, '}')
	return nil
}
