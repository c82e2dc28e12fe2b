package embedded

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

const maxBatchWrite = 25

// batchWriteItem puts and deletes up to 25 items.
//
// It checks, in this order:
//  1. that RequestItems is given and not empty
//  2. the model: ReturnConsumedCapacity, the number of tables, ReturnItemCollectionMetrics
//  3. the model for each table: its name, the number of requests (1 to 25), and that each put has
//     an item and each delete a key
//  4. the number of requests, at most 25
//  5. for each request: that it is either a put or a delete, its values, and the size of the item,
//     at most 400 KB
//  6. the tables
//  7. for each request: the keys, and that no item is given twice
//  8. the throughput of each item
//
// Tables are processed in the order of their names. Unlike in the service, all items are written in
// one commit: after a crash either all of them are stored or none. Requests are returned in
// UnprocessedItems if they are throttled, or because of a fault. If all are throttled, the request
// is refused.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
func (e *Engine) batchWriteItem(c *call) error {
	var in batchWriteItemInput
	if err := decode(c.body, in.read); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	tables, release, err := e.sharedAll(in.names())
	if err != nil {
		return err
	}
	defer release()
	var changes []*change
	var used []consumption
	seen := map[string]bool{}
	for _, name := range in.names() {
		used = append(used, consumption{table: tables[name]})
		for _, w := range in.tables[name] {
			ch, err := tables[name].writeRequestChange(w)
			if err != nil {
				return err
			}
			if seen[string(ch.storageKey)] {
				return invalid("Provided list of item keys contains duplicates")
			}
			seen[string(ch.storageKey)] = true
			ch.unprocessed = c.fault.hits(EffectUnprocessed)
			changes = append(changes, ch)
		}
	}
	if err := e.commitChanges(changes, used); err != nil {
		return err
	}
	c.out = in.appendUnprocessed(append(c.out, `{"UnprocessedItems":`...), changes)
	if err := e.appendAllMetrics(c, changes, in.showMetrics); err != nil {
		return err
	}
	c.appendCapacities(used, in.showCapacity)
	c.out = append(c.out, '}')
	return nil
}

func (e *Engine) batchWriteItemTargets(c *call) []target {
	var in batchWriteItemInput
	if decode(c.body, in.read) != nil {
		return nil
	}
	var targets []target
	for _, name := range in.names() {
		for _, w := range in.tables[name] {
			item := w.item.item
			if w.deletes {
				item = w.key.item
			}
			targets = append(targets, e.itemTarget(&name, item))
		}
	}
	return targets
}

// writeRequest is one put or delete of a BatchWriteItem.
type writeRequest struct {
	item, key itemParameter
	puts      bool
	deletes   bool
}

type batchWriteItemInput struct {
	tables       map[string][]writeRequest
	showCapacity *string
	showMetrics  *string
}

func (in *batchWriteItemInput) read(name string, r *decoder) {
	switch name {
	case "RequestItems":
		tables := map[string][]writeRequest{}
		listType := "java.util.List<com.amazonaws.dynamodb.v20120810.WriteRequest>"
		if r.mapping(listType, func(table string) { tables[table] = r.writeRequests() }) {
			in.tables = tables
		}
	case "ReturnConsumedCapacity":
		in.showCapacity = r.text()
	case "ReturnItemCollectionMetrics":
		in.showMetrics = r.text()
	default:
		r.skip()
	}
}

func (r *decoder) writeRequests() []writeRequest {
	requests := []writeRequest{}
	r.list(func() {
		var w writeRequest
		r.structure("WriteRequest", func(name string) {
			switch name {
			case "PutRequest":
				w.puts = r.only("PutRequest", "Item", &w.item)
			case "DeleteRequest":
				w.deletes = r.only("DeleteRequest", "Key", &w.key)
			default:
				r.skip()
			}
		})
		requests = append(requests, w)
	})
	return requests
}

// only decodes a structure with a single member, an item.
func (r *decoder) only(structType, member string, item *itemParameter) bool {
	return r.structure(structType, func(name string) {
		if name == member {
			*item = r.item()
			return
		}
		r.skip()
	})
}

func (in *batchWriteItemInput) names() []string { return slices.Sorted(maps.Keys(in.tables)) }

func (in *batchWriteItemInput) check() error {
	if len(in.tables) == 0 {
		return invalid("The requestItems parameter is required for BatchWriteItem")
	}
	var c constraints
	c.consumedCapacity(in.showCapacity)
	c.length(len(in.tables), counted(len(in.tables), "tables"), "requestItems", 1, maxBatchWrite)
	c.collectionMetrics(in.showMetrics)
	if err := c.err(); err != nil {
		return err
	}
	count := 0
	for _, name := range in.names() {
		c.mapKey(name, "requestItems", in.shown)
		requests := in.tables[name]
		if n := len(requests); n < 1 || n > maxBatchWrite {
			c.broken("'{"+name+"="+counted(n, "requests")+"}'", "requestItems", "Map value must satisfy constraint: "+
				"[Member must have length less than or equal to 25, Member must have length greater than or equal to 1]")
		}
		count += len(requests)
		for i, w := range requests {
			member := "requestItems." + name + ".member." + strconv.Itoa(i+1) + ".member."
			if w.puts {
				c.required(w.item.given(), member+"putRequest.item")
			}
			if w.deletes {
				c.required(w.key.given(), member+"deleteRequest.key")
			}
		}
	}
	if err := c.err(); err != nil {
		return err
	}
	if count > maxBatchWrite {
		return invalid("Too many items requested for the BatchWriteItem call")
	}
	return in.checkRequests()
}

// shown returns RequestItems as error messages show it.
func (in *batchWriteItemInput) shown() string {
	tables := make([]string, 0, len(in.tables))
	for _, name := range in.names() {
		requests := make([]string, len(in.tables[name]))
		for i, w := range in.tables[name] {
			put, remove := "null", "null"
			if w.puts {
				put = "PutRequest(item=" + shownItem(w.item.item) + ")"
			}
			if w.deletes {
				remove = "DeleteRequest(key=" + shownItem(w.key.item) + ")"
			}
			requests[i] = "WriteRequest(putRequest=" + put + ", deleteRequest=" + remove + ")"
		}
		tables = append(tables, name+"="+listed(requests))
	}
	return "{" + strings.Join(tables, ", ") + "}"
}

func shownItem(item attribute.Item) string {
	members := make([]string, 0, len(item))
	for _, name := range slices.Sorted(maps.Keys(item)) {
		members = append(members, name+"=AttributeValue("+string(attribute.AppendValue(nil, item[name]))+")")
	}
	return "{" + strings.Join(members, ", ") + "}"
}

func (in *batchWriteItemInput) checkRequests() error {
	for _, name := range in.names() {
		for _, w := range in.tables[name] {
			switch {
			case w.puts == w.deletes && w.puts:
				return invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the " +
					"supported datatypes")
			case !w.puts && !w.deletes:
				return invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
			case w.item.invalid != nil:
				return w.item.invalid.OlderWording()
			case w.key.invalid != nil:
				return w.key.invalid.OlderWording()
			case w.puts && w.item.item.Size() > maxItem:
				return invalid(itemTooLarge)
			}
		}
	}
	return nil
}

func (t *table) writeRequestChange(w writeRequest) (*change, error) {
	if !w.puts {
		return t.deleteChange(w.key.item)
	}
	for _, name := range t.Key.names() {
		if w.item.item[name].Kind != t.Kinds[name] {
			return nil, invalid(keyMismatch)
		}
	}
	return t.putChange(w.item.item)
}

// commitChanges makes unconditional changes of different items in one commit, except changes that
// are unprocessed already or that are throttled. It fails if throttling leaves no change. It adds
// the consumption to used and to the counters.
func (e *Engine) commitChanges(changes []*change, used []consumption) error {
	keys := make([][]byte, len(changes))
	for i, ch := range changes {
		keys[i] = ch.storageKey
	}
	defer e.locks.lockAll(keys)()
	batch := e.store.NewBatch()
	outcomes := make([]outcome, len(changes))
	for i, ch := range changes {
		if ch.unprocessed {
			continue
		}
		var err error
		outcomes[i], err = e.stage(batch, ch, consumptionOf(used, ch.table))
		ch.unprocessed = err != nil && throttled(err)
		if err != nil && (!ch.unprocessed || allUnprocessed(changes)) {
			return joinClose(err, discarding{batch})
		}
	}
	if err := e.commit(batch, changes, outcomes); err != nil {
		return fmt.Errorf("writing a batch: %w", err)
	}
	for i := range used {
		used[i].charge()
	}
	return nil
}

func consumptionOf(used []consumption, t *table) *consumption {
	for i := range used {
		if used[i].table == t {
			return &used[i]
		}
	}
	return nil
}
