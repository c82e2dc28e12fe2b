package engine

import (
	"container/list"
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// maxCacheBytes bounds the memory of the rows that a group caches: about 60,000 rows.
const maxCacheBytes = 16 << 20

// cachedRowBytes is the memory of a cached row without the texts of its key and its writer.
const cachedRowBytes = 200

// rowCache caches the rows that this process was the last to change, as far as it knows. It retains
// the most recently used ones, up to maxCacheBytes. It is safe for concurrent use.
//
// A row is removed from the cache before it is written, and returned to it after the write is known
// to have succeeded. Another process may change the row at any time, so each write that is based on
// a cached row has the condition that the row is unchanged. A record is done without a read if the
// cached offset has passed the number of its event, because that offset was durable when the row
// was cached.
type rowCache struct {
	mu    sync.Mutex
	rows  map[string]*list.Element
	used  *list.List // of *cachedRow, the most recently used first
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

// take removes a row, and returns it.
func (c *rowCache) take(key string) (Row, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.rows[key]
	if !ok {
		return Row{}, false
	}
	return c.remove(e), true
}

// add adds a row, and removes the least recently used rows above the limit.
func (c *rowCache) add(key string, state Row) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.rows[key]; ok {
		c.remove(e)
	}
	cached := &cachedRow{key, state}
	c.rows[key] = c.used.PushFront(cached)
	c.bytes += cached.bytes()
	for c.bytes > c.most {
		c.remove(c.used.Back())
	}
}

// remove removes a row. The caller holds the lock.
func (c *rowCache) remove(e *list.Element) Row {
	cached := c.used.Remove(e).(*cachedRow) //nolint:forcetypeassert // the list has nothing else
	c.bytes -= cached.bytes()
	delete(c.rows, cached.key)
	return cached.row
}

// At returns the row after an offset was stored and its claim was released.
func (r *Row) At(to Offset) Row {
	next := Row{Offset: to, Exists: true, Started: r.Started || to != r.Offset, Made: r.Made, Debt: r.Debt}
	if to == r.Offset {
		next.Attempts, next.first = r.Attempts, r.first
	}
	return next
}

// row returns the row of the run, from the cache or from the table. The cached row is used only for
// records: a caller who triggers a run without a record may know that the row was changed, such as
// by a reset. It is not used either if a record is after the next event, because another process
// has handled the events between.
func (r *Run) row(ctx context.Context) (Row, error) {
	var cached Row
	if r.rows != nil {
		cached, r.own = r.rows.take(r.cacheKey())
	}
	if r.own && len(r.records) > 0 && r.records[0].Seq <= cached.Seq+1 {
		return cached, nil
	}
	state, err := r.Group.Table.Row(ctx, r.Key)
	r.own = r.own && state.Offset == cached.Offset
	return state, err
}

// Cache caches a row that is known to be stored in this form. It does not cache the row of a shared
// journal, which has more than an offset, and whose events are always read.
func (r *Run) Cache(state Row) {
	if r.rows != nil && !r.paying && state.Claim == "" && !state.Debt.Exists && state.Made == nil && r.Group.Journal.Native() {
		r.rows.add(r.cacheKey(), state)
	}
}

func (r *Run) cacheKey() string {
	par, _ := r.Key[AttrPar].(*types.AttributeValueMemberS)
	return par.Value
}
