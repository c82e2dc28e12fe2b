package embedded

import (
	"encoding/binary"
	"math"
	"sync"
	"time"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

const (
	// keyReadRate and keyWriteRate are the units per second of one partition key. It accumulates
	// unused units for keyBurst seconds.
	keyReadRate  = 3000
	keyWriteRate = 1000
	keyBurst     = 1
	// tableBurst is the number of seconds for which a provisioned table or index accumulates unused
	// units.
	tableBurst = 300
	// maxTrackedKeys is the number of partition keys of a table that are tracked before unused ones
	// are dropped.
	maxTrackedKeys = 10_000
)

// WithThroughput makes the engine throttle requests as DynamoDB does. A partition key of a table or
// global secondary index has 1,000 write units and 3,000 read units per second, and accumulates the
// unused units of one second. A provisioned table or index has its provisioned units per second,
// and accumulates the unused units of 300 seconds. A new table or index starts with the units of
// one second. A request is accepted if there are units left, even if it consumes more than that:
// later requests are then throttled for longer. On-demand tables have only the limits of their
// partition keys.
//
// A throttled request fails with ProvisionedThroughputExceededException, or with
// ThrottlingException if the table is on-demand, with the limit and the ARN of the table or index
// as the reason. In a batch, throttled items are unprocessed, or their statements fail. A
// transaction is canceled.
func WithThroughput() Option {
	return func(o *options) { o.throughput = true }
}

// limits are the units that a table has left. A nil limits has no limit.
type limits struct {
	now func() time.Time

	lock sync.Mutex
	// rates has the units of the table and its indexes, by the id of the index. The table has id 0.
	rates map[uint16]*buckets
	// keys has the units of the partition keys.
	keys map[partition]*buckets
}

// partition identifies a partition key by the id of the index (0 for the table) and the hash of the
// key. Few keys share a hash.
type partition struct {
	index  uint16
	bucket uint32
}

// buckets has the units that are left for reads and for writes at the time at. They are negative
// after a request that consumed more than was left.
type buckets struct {
	read, write float64
	at          time.Time
}

func (o *options) limits() *limits {
	if !o.throughput {
		return nil
	}
	return &limits{now: o.clock, rates: map[uint16]*buckets{}, keys: map[partition]*buckets{}}
}

// restart drops the units of the table and its indexes. After a switch of the billing mode, they
// start with the units of one second, regardless of the units accumulated before.
func (l *limits) restart() {
	if l == nil {
		return
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	clear(l.rates)
}

// demand is the number of units that a request consumes of the table or index and, if key is not
// nil, of a partition key.
type demand struct {
	// index is nil for the table.
	index *index
	// key is the storage key of an entry with the partition key, or nil.
	key []byte
	// read and write are in half units.
	read, write int
}

// refill adds the units since the last call, up to the units of burst seconds.
func (b *buckets) refill(now time.Time, read, write, burst float64) {
	seconds := math.Max(0, now.Sub(b.at).Seconds())
	b.read = math.Min(b.read+seconds*read, math.Max(1, read*burst))
	b.write = math.Min(b.write+seconds*write, math.Max(1, write*burst))
	b.at = now
}

func (b *buckets) allows(d demand) bool {
	return (d.read == 0 || b.read > 0) && (d.write == 0 || b.write > 0)
}

func (b *buckets) take(d demand) {
	b.read -= float64(d.read) / 2
	b.write -= float64(d.write) / 2
}

// take consumes the demands, or none of them and returns an error. The caller holds the table's
// lock.
func (t *table) take(demands ...demand) error {
	if t.limits == nil {
		return nil
	}
	l := t.limits
	l.lock.Lock()
	defer l.lock.Unlock()
	now := l.now()
	var from [][2]*buckets
	for _, d := range demands {
		pair := [2]*buckets{t.provisioned(d.index, now), l.partition(d, now)}
		for _, b := range pair {
			if b != nil && !b.allows(d) {
				return t.throttled(d, b == pair[0])
			}
		}
		from = append(from, pair)
	}
	for n, pair := range from {
		for _, b := range pair {
			if b != nil {
				b.take(demands[n]) //nolint:gosec // from has a pair for each demand
			}
		}
	}
	return nil
}

// throttled returns the error of a demand that exceeds the throughput of the table or index, or of
// a partition key if provisioned is false.
func (s *schema) throttled(d demand, provisioned bool) error {
	err := dynamoError("ThrottlingException", onDemandExceeded)
	if s.Billing == billingProvisioned {
		err = dynamoError("ProvisionedThroughputExceededException", throughputExceeded)
	}
	index, limit := "", keyRangeLimit
	if d.index != nil && !d.index.Local {
		index = d.index.Name
	}
	if provisioned {
		limit = provisionedLimit
	}
	err.throttling = newThrottlingReason(s.Name, index, d.read > 0, limit)
	return err
}

// provisioned returns the units of the table or index, or nil if it is not limited. Local indexes
// use the units of the table.
func (t *table) provisioned(i *index, now time.Time) *buckets {
	if t.Billing != billingProvisioned {
		return nil
	}
	rate, id := t.Throughput, uint16(0)
	if i != nil && !i.Local {
		rate, id = i.Throughput, i.ID
	}
	b, found := t.limits.rates[id]
	if !found {
		b = &buckets{read: float64(rate.Read), write: float64(rate.Write), at: now}
		t.limits.rates[id] = b
	}
	b.refill(now, float64(rate.Read), float64(rate.Write), tableBurst)
	return b
}

// partition returns the units of the demand's partition key, or nil if key is nil. Local indexes
// use the units of the table.
func (l *limits) partition(d demand, now time.Time) *buckets {
	if d.key == nil {
		return nil
	}
	p := partition{bucket: binary.BigEndian.Uint32(d.key[prefixBytes:])}
	if d.index != nil && !d.index.Local {
		p.index = d.index.ID
	}
	b, found := l.keys[p]
	if !found {
		l.forget(now)
		b = &buckets{read: keyReadRate * keyBurst, write: keyWriteRate * keyBurst, at: now}
		l.keys[p] = b
	}
	b.refill(now, keyReadRate, keyWriteRate, keyBurst)
	return b
}

// forget drops the keys that have all their units, if maxTrackedKeys keys are tracked.
func (l *limits) forget(now time.Time) {
	if len(l.keys) < maxTrackedKeys {
		return
	}
	for p, b := range l.keys {
		b.refill(now, keyReadRate, keyWriteRate, keyBurst)
		if b.read >= keyReadRate*keyBurst && b.write >= keyWriteRate*keyBurst {
			delete(l.keys, p)
		}
	}
}

// takeRead consumes half units for a read of a table or index. If key, the storage key of an entry,
// is not nil, it also consumes them of the entry's partition key.
func (t *table) takeRead(i *index, key []byte, units int) error {
	if t.limits == nil {
		return nil
	}
	return t.take(demand{index: i, key: key, read: units})
}

// takeRead consumes the units that the page has read. Only a read within one partition key has
// bounds that are longer than a prefix with the hash.
func (p *pageRead) takeRead(units int) error {
	if len(p.lower) <= partitionBytes {
		return p.table.takeRead(p.index, nil, units)
	}
	return p.table.takeRead(p.index, p.lower, units)
}

// takeChange consumes the units that a change of an item and its indexes costs. It is called with
// the item's lock held, before the change is staged.
func (e *Engine) takeChange(ch *change, used *consumption) error {
	if ch.table.limits == nil || ch.uncharged {
		return nil
	}
	old, err := loadItem(e.store.Reader, ch.storageKey)
	if err != nil {
		return err
	}
	factor := used.factor()
	changed, changedSize := old.item, 0
	if ch.apply != nil && (ch.condition == nil || ch.condition(old.item)) {
		if changed, err = ch.apply(old.item); err != nil {
			return err
		}
		changedSize = changed.Size()
	}
	demands := []demand{{key: ch.storageKey, write: factor * writeUnits(max(old.size, changedSize))}}
	for _, i := range ch.table.Indexes {
		demands = append(demands, ch.table.indexDemands(i, old.item, changed)...)
	}
	return ch.table.take(demands...)
}

// indexDemands returns the demands of a change in one index.
func (s *schema) indexDemands(i *index, old, changed attribute.Item) []demand {
	var demands []demand
	entry := func(item attribute.Item) (key []byte, part attribute.Item) {
		if !s.indexes(i, item) {
			return nil, nil
		}
		return s.entryKey(i, item), s.projection(i, item)
	}
	oldKey, oldPart := entry(old)
	newKey, newPart := entry(changed)
	same := string(oldKey) == string(newKey)
	if same && attribute.EqualItems(oldPart, newPart) {
		return nil
	}
	if oldKey != nil && !same {
		demands = append(demands, demand{index: i, key: oldKey, write: writeUnits(oldPart.Size())})
	}
	if newKey != nil {
		size := newPart.Size()
		if same {
			size = max(size, oldPart.Size())
		}
		demands = append(demands, demand{index: i, key: newKey, write: writeUnits(size)})
	}
	return demands
}
