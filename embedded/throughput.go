package embedded

import (
	"encoding/binary"
	"math"
	"sync"
	"time"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

const (
	// keyReadRate and keyWriteRate are what one partition key allows, in units a second. It can
	// save up one second's.
	keyReadRate  = 3000
	keyWriteRate = 1000
	keyBurst     = 1
	// tableBurst is how many seconds' units a provisioned table or index can save up.
	tableBurst = 300
	// partitionBytes is how long the part of a storage key is that all entries of a partition key
	// share: the prefix of the table or index and the hash.
	prefixBytes    = 1 + 4 + 2
	partitionBytes = prefixBytes + bucketBytes
	// keptKeys is how many partition keys of a table are followed before those that are not in use
	// are forgotten.
	keptKeys = 10_000
)

// WithThroughput makes the engine throttle as DynamoDB does. A partition key of a table or of a
// global secondary index allows 1,000 write and 3,000 read units a second, and up to as many more
// that were left unused before. A provisioned table or index allows its provisioned units a second,
// and up to 300 seconds' of unused ones more; a new one has saved up one second's. A request is let
// through if there are units left, however many it then takes, so that the next ones may have to
// wait for longer. On-demand tables have no limit of their own.
//
// A throttled request gets ProvisionedThroughputExceededException, or ThrottlingException if the
// table is on-demand; of a batch, the items that are throttled are left unprocessed, or their
// statements fail; a transaction is cancelled.
func WithThroughput() Option {
	return func(o *options) { o.throughput = true }
}

// limits is what is left of a table's throughput. A nil limits allows everything.
type limits struct {
	now func() time.Time

	lock sync.Mutex
	// rates has the table and its indexes, by the index's number, 0 for the table.
	rates map[uint16]*buckets
	// keys has the partition keys.
	keys map[partition]*buckets
}

// partition names a partition key: the index, 0 for the table, and the hash of the key, which few
// others share.
type partition struct {
	index  uint16
	bucket uint32
}

// buckets is what is left to read and to write, in units, as it was at a time. Less than nothing is
// left after a request that took more than there was.
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

// demand is what a request wants of one partition key. Without a key it wants it of the table or
// index as a whole.
type demand struct {
	// index is nil for the table.
	index *index
	// key is the storage key of an entry with the partition key, nil for none.
	key []byte
	// read and write are in half units.
	read, write int
}

// refill adds what has come in since the last time, up to burst seconds' worth.
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

// take takes the demands out of what is left, all or, with an error, none. The caller holds the
// table shared.
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
				return t.throttled()
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

func (s *schema) throttled() error {
	if s.Billing == billingProvisioned {
		return dynamoError("ProvisionedThroughputExceededException", throughputExceeded)
	}
	return dynamoError("ThrottlingException", onDemandExceeded)
}

// provisioned returns what is left of the table or the index; nil if that is not limited. Local
// indexes share the table's.
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

// partition returns what is left of the demand's partition key, nil if it has none. A local index
// shares the table's keys.
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

// forget drops the keys that have all their units again, if there are many keys.
func (l *limits) forget(now time.Time) {
	if len(l.keys) < keptKeys {
		return
	}
	for p, b := range l.keys {
		b.refill(now, keyReadRate, keyWriteRate, keyBurst)
		if b.read >= keyReadRate*keyBurst && b.write >= keyWriteRate*keyBurst {
			delete(l.keys, p)
		}
	}
}

// takeRead takes half units for a read: of the partition key if key is the storage key of an entry
// with it, and of the table or index as a whole if key is nil.
func (t *table) takeRead(i *index, key []byte, units int) error {
	if t.limits == nil {
		return nil
	}
	return t.take(demand{index: i, key: key, read: units})
}

// takeRead takes what the page has read. Only a read within one partition key has bounds that are
// longer than those of the key's hash.
func (p *pageRead) takeRead(units int) error {
	if len(p.lower) <= partitionBytes {
		return p.table.takeRead(p.index, nil, units)
	}
	return p.table.takeRead(p.index, p.lower, units)
}

// takeChange takes what a change of an item and its indexes consumes. It is called with the item's
// lock held, before anything of the change is staged.
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
		demands = append(demands, ch.table.indexDemands(i, old.item, changed, factor)...)
	}
	return ch.table.take(demands...)
}

// indexDemands returns what bringing the index in line with a change consumes.
func (s *schema) indexDemands(i *index, old, changed attribute.Item, factor int) []demand {
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
		demands = append(demands, demand{index: i, key: oldKey, write: factor * writeUnits(oldPart.Size())})
	}
	if newKey != nil {
		size := newPart.Size()
		if same {
			size = max(size, oldPart.Size())
		}
		demands = append(demands, demand{index: i, key: newKey, write: factor * writeUnits(size)})
	}
	return demands
}
