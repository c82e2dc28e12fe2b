package embedded

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

const (
	// sweepStep is the number of expired items that are deleted at a time.
	sweepStep = 25
	// longExpired is the time since its expiry after which an item is no longer deleted. DynamoDB
	// treats older times as mistakes.
	longExpired = 5 * 365 * 24 * time.Hour
)

// startSweeper starts the goroutine that deletes expired items, unless it is running.
func (e *Engine) startSweeper() {
	if e.options.sweep <= 0 {
		return
	}
	e.sweeping.Do(func() {
		e.background.Go(func() {
			ticker := time.NewTicker(e.options.sweep)
			defer ticker.Stop()
			for {
				select {
				case <-e.stop:
					return
				case <-e.Failed():
					return
				case <-ticker.C:
				}
				if _, err := e.sweep(); err != nil && e.Err() == nil {
					slog.Error("embedded DynamoDB: deleting expired items failed", "error", err)
				}
			}
		})
	})
}

// SweepExpired deletes the items that have expired by the engine's clock, and returns their number.
// The engine also deletes them in the background. Deleting them consumes no capacity. Expired items
// can be read until they are deleted, as in DynamoDB. SweepExpired also deletes expired request
// tokens and stream records, and replaces shards that are due.
func (e *Engine) SweepExpired() (int, error) {
	if err := e.enter(); err != nil {
		return 0, err
	}
	defer e.leave()
	n, err := e.sweep()
	if err != nil {
		return n, fmt.Errorf("embedded: deleting expired items: %w", err)
	}
	return n, nil
}

// sweep deletes expired items and tokens, and sweeps the streams. The engine must not be closed
// during it.
func (e *Engine) sweep() (int, error) {
	e.tablesLock.RLock()
	tables := make([]*table, 0, len(e.tables))
	for _, t := range e.tables {
		tables = append(tables, t)
	}
	e.tablesLock.RUnlock()
	if err := e.sweepTokens(); err != nil {
		return 0, fmt.Errorf("deleting request tokens: %w", err)
	}
	if err := e.sweepStreams(); err != nil {
		return 0, err
	}
	total := 0
	for _, t := range tables {
		n, err := e.sweepTable(t)
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

func (e *Engine) sweepTable(t *table) (int, error) {
	total := 0
	var after []byte
	for {
		n, next, err := e.sweepSome(t, after)
		total += n
		if err != nil || next == nil {
			return total, err
		}
		select {
		case <-e.stop:
			return total, nil
		default:
		}
		after = next
	}
}

// sweepSome deletes the next expired items with keys after the given one. It returns their number,
// and the last key, or nil at the end.
func (e *Engine) sweepSome(t *table, after []byte) (int, []byte, error) {
	t.lock.RLock()
	defer t.lock.RUnlock()
	if t.dropped || t.TimeToLive == "" {
		return 0, nil, nil
	}
	keys, next, err := e.expired(t, after)
	if err != nil {
		return 0, nil, fmt.Errorf("finding expired items of %s: %w", t.Name, err)
	}
	n := 0
	for _, key := range keys {
		ch := newChange(t, key)
		// The item may have been written again since it was found.
		ch.condition = e.isExpired(t)
		ch.uncharged, ch.expires = true, true
		ch.apply = removeItem
		_, err := e.commitChange(ch, &consumption{table: t})
		switch {
		case err == nil:
			n++
		case asAPIError(err).name() != "ConditionalCheckFailedException":
			return n, nil, err
		}
	}
	return n, next, nil
}

func (e *Engine) expired(t *table, after []byte) (keys []attribute.Item, next []byte, err error) {
	lower := itemPrefix(nil, t.ID, 0)
	if after != nil {
		lower = append(after, 0)
	}
	it, err := e.store.Iterate(lower, itemPrefix(nil, t.ID, 1))
	if err != nil {
		return nil, nil, err
	}
	isExpired := e.isExpired(t)
	for ok := it.First(); ok && len(keys) < sweepStep; ok = it.Next() {
		var item attribute.Item
		stored, valueErr := it.Value()
		if err = valueErr; err == nil {
			item, _, err = decodeStoredItem(stored)
		}
		if err != nil {
			break
		}
		if isExpired(item) {
			keys = append(keys, t.keyAttributes(item))
			next = append([]byte(nil), it.Key()...)
		}
	}
	if len(keys) < sweepStep {
		next = nil
	}
	return keys, next, joinClose(err, it)
}

// isExpired returns a function that reports whether an item has expired now.
func (e *Engine) isExpired(t *table) func(attribute.Item) bool {
	now := e.now().Unix()
	return func(item attribute.Item) bool {
		value := item[t.TimeToLive]
		if value.Kind != attribute.N {
			return false
		}
		whole, _, _ := strings.Cut(value.Text, ".")
		second, err := strconv.ParseInt(whole, 10, 64)
		return err == nil && second < now && second > now-int64(longExpired/time.Second)
	}
}
