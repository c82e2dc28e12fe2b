package projection

import (
	"container/list"
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// maxCacheBytes bounds the memory of the rows that a group keeps: about 60,000 rows.
const maxCacheBytes = 16 << 20

// cachedRowBytes is what a row takes beside the text of its key and of its writer.
const cachedRowBytes = 200

// rowCache has the rows that a process was the last to change, as far as it knows: those that were
// used last, up to maxCacheBytes. It is safe for concurrent use.
//
// A row is taken out before anything is written to it, and kept when the write is known to have
// been done. Another process may change it at any time. Nothing is written by a row of the cache
// but under the condition that the row is still so. And a record is done by it if the offset has
// passed the number of its event: that was so when the row was kept, and was durable.
type rowCache struct {
	mu    sync.Mutex
	rows  map[string]*list.Element
	used  *list.List // of *cachedRow, the last one used first
	bytes int
	most  int
}

type cachedRow struct {
	key string
	row row
}

func (c *cachedRow) bytes() int { return cachedRowBytes + len(c.key) + len(c.row.writer) }

func newRowCache() *rowCache {
	return &rowCache{rows: map[string]*list.Element{}, used: list.New(), most: maxCacheBytes}
}

// take takes a row out.
func (c *rowCache) take(key string) (row, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.rows[key]
	if !ok {
		return row{}, false
	}
	return c.remove(e), true
}

// keep puts a row in.
func (c *rowCache) keep(key string, state row) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.rows[key]; ok {
		c.remove(e)
	}
	kept := &cachedRow{key, state}
	c.rows[key] = c.used.PushFront(kept)
	c.bytes += kept.bytes()
	for c.bytes > c.most {
		c.remove(c.used.Back())
	}
}

// remove removes a row. The caller holds the lock.
func (c *rowCache) remove(e *list.Element) row {
	kept := c.used.Remove(e).(*cachedRow) //nolint:forcetypeassert // the list has nothing else
	c.bytes -= kept.bytes()
	delete(c.rows, kept.key)
	return kept.row
}

// at returns the row at an offset that was stored, without a claim.
func (r *row) at(to offset) row {
	next := row{offset: to, exists: true, begun: r.begun || to != r.offset, stuck: r.stuck, made: r.made}
	if to == r.offset {
		next.attempts, next.first = r.attempts, r.first
	}
	return next
}

// row returns the row of the run, of the cache or of the table. That of the cache serves records
// only: whoever asks for a reading without one may know that the row was changed, as by a reset. It
// does not serve a record behind the next event either, as another process has handled those
// between.
func (r *run) row(ctx context.Context) (row, error) {
	var kept row
	if r.rows != nil {
		kept, r.own = r.rows.take(r.cacheKey())
	}
	if r.own && len(r.records) > 0 && r.records[0].seq <= kept.seq+1 {
		kept.kept = true
		return kept, nil
	}
	state, err := r.group.table.row(ctx, r.key)
	r.own = r.own && state.offset == kept.offset
	return state, err
}

// keep keeps a row that is known to be stored so. That of a shared journal has more than an offset,
// and its events are always read.
func (r *run) keep(state row) {
	if r.rows != nil && state.claim == "" && state.stuck == 0 && state.made == nil && r.group.journal.Native() {
		r.rows.keep(r.cacheKey(), state)
	}
}

func (r *run) cacheKey() string {
	par, _ := r.key[attrPar].(*types.AttributeValueMemberS)
	return par.Value
}
