package engine

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
	row Row
}

func (c *cachedRow) bytes() int { return cachedRowBytes + len(c.key) + len(c.row.Writer) }

// newRowCache returns an empty cache.
func newRowCache() *rowCache {
	return &rowCache{rows: map[string]*list.Element{}, used: list.New(), most: maxCacheBytes}
}

// take takes a row out.
func (c *rowCache) take(key string) (Row, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.rows[key]
	if !ok {
		return Row{}, false
	}
	return c.remove(e), true
}

// keep puts a row in.
func (c *rowCache) keep(key string, state Row) {
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
func (c *rowCache) remove(e *list.Element) Row {
	kept := c.used.Remove(e).(*cachedRow) //nolint:forcetypeassert // the list has nothing else
	c.bytes -= kept.bytes()
	delete(c.rows, kept.key)
	return kept.row
}

// At returns the row at an offset that was stored, without a claim.
func (r *Row) At(to Offset) Row {
	next := Row{Offset: to, Exists: true, Begun: r.Begun || to != r.Offset, Made: r.Made, Debt: r.Debt}
	if to == r.Offset {
		next.Attempts, next.first = r.Attempts, r.first
	}
	return next
}

// row returns the row of the run, of the cache or of the table. That of the cache serves records
// only: whoever asks for a reading without one may know that the row was changed, as by a reset. It
// does not serve a record after the next event either, as another process has handled those
// between.
func (r *Run) row(ctx context.Context) (Row, error) {
	var kept Row
	if r.rows != nil {
		kept, r.own = r.rows.take(r.cacheKey())
	}
	if r.own && len(r.records) > 0 && r.records[0].Seq <= kept.Seq+1 {
		return kept, nil
	}
	state, err := r.Group.Table.Row(ctx, r.Key)
	r.own = r.own && state.Offset == kept.Offset
	return state, err
}

// Keep keeps a row that is known to be stored so. That of a shared journal has more than an offset,
// and its events are always read.
func (r *Run) Keep(state Row) {
	if r.rows != nil && !r.paying && state.Claim == "" && !state.Debt.Owed && state.Made == nil && r.Group.Journal.Native() {
		r.rows.keep(r.cacheKey(), state)
	}
}

func (r *Run) cacheKey() string {
	par, _ := r.Key[AttrPar].(*types.AttributeValueMemberS)
	return par.Value
}
