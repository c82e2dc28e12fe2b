package projections_test

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// round checks all reports to the projections in a round, after everything is handled.
func (o *oracle) round() {
	o.collect()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range o.stored {
		for g := range o.groups {
			for _, k := range o.kinds {
				c := o.of(effectKey(g, k, id.pid))
				for i, e := range c.entries[c.checked:] {
					if wrong := c.check(o.sum, id, k, e); wrong != "" {
						c.entries = c.entries[:c.checked+i+1]
						o.failLocked("%s: %s\n%s", effectKey(g, k, id.pid), wrong, c.describe())
						return
					}
				}
				c.checked = len(c.entries)
				if last := id.lastTaken(k); c.reached[id.life] < last {
					o.failLocked("%s: handled up to %d of life %d, stored are %d of life %d\n%s",
						effectKey(g, k, id.pid), c.reached[c.life], c.life, last, id.life, c.describe())
				}
			}
		}
		id.fresh = false
		stored := 0
		for _, texts := range id.texts {
			stored += len(texts)
		}
		o.sum.events += stored - id.counted
		id.counted = stored
	}
}

// lastTaken returns the number of the last event that a projection of a kind must have handled, or
// 0.
func (id *stored) lastTaken(k kind) int64 {
	last := int64(0)
	for seq, text := range id.texts[id.life] {
		if seq > id.deletedTo && k.takes(text) {
			last = max(last, seq)
		}
	}
	return last
}

// passedOver returns the first number of a life between two numbers whose event a projection must
// have handled.
func (id *stored) passedOver(k kind, life int, from, to int64) (int64, bool) {
	for n := from + 1; n < to; n++ {
		if text, stored := id.texts[life][n]; stored && k.takes(text) {
			return n, true
		}
	}
	return 0, false
}

// check checks the entry after the entries that are already checked. It returns a description of
// the error, or an empty text.
func (c *chronicle) check(sum *totals, id *stored, k kind, e report) string {
	once := k.once()
	switch e.what {
	case purged:
		sum.purges++
		if e.first > 0 && !slices.Contains(id.purges, e.first) {
			return fmt.Sprintf("a purge up to %d was reported, and there was none", e.first)
		}
		if !once && e.first > 0 && e.first <= c.purgedTo {
			return "" // a process that was suspended reports it again
		}
		// Events that a JVM purges vanish step by step, and the low mark after them.
		if once && c.purged && e.first == c.purgedTo && (c.gapped == 0 || !id.byJVM) {
			return "a purge is reported twice"
		}
		c.purged, c.purgedTo, c.gapped = true, e.first, e.first
		return ""
	case gap:
		sum.gaps++
		return c.checkGap(id, k, e)
	case event:
		sum.reported++
	}
	var number, life, count int
	if _, err := fmt.Sscan(e.text, &number, &life, &count); err != nil || life > id.life || id.texts[life][e.first] != e.text || !k.takes(e.text) {
		return fmt.Sprintf("%q at %d is not stored, or not taken", e.text, e.first)
	}
	if life < c.life {
		if once {
			return fmt.Sprintf("%d is of an earlier life", e.first)
		}
		sum.late++
		return ""
	}
	switch {
	case life > c.life && !c.purged && c.reached[c.life] > 0:
		return fmt.Sprintf("%d is of another life, and no purge was reported", e.first)
	case life == c.life && c.purged && once && c.reached[c.life] > 0 && !id.purgeTried[life]:
		return "a purge was reported, and there was none"
	}
	before := max(c.reached[life], c.unreported(id, e.first))
	if c.purged || before == 0 {
		before = max(before, c.gapped)
	}
	// A process that was suspended may continue with a life whose purge another process has
	// reported.
	if once || life > c.life {
		c.life, c.purged, c.gapped = life, false, 0
	}
	if e.first <= before {
		if once {
			return fmt.Sprintf("%d is handled twice", e.first)
		}
		sum.repeated++
		return ""
	}
	if n, missed := id.passedOver(k, life, before, e.first); missed {
		return fmt.Sprintf("%d is skipped", n)
	}
	c.reached[life] = e.first
	return ""
}

// unreported returns the number of the last purge before a number that was not reported to a
// projection, because it had handled nothing.
func (c *chronicle) unreported(id *stored, number int64) int64 {
	last := int64(0)
	if c.purged || c.gapped > 0 || c.reached[c.life] > 0 {
		return last
	}
	for _, purged := range id.purges {
		if purged < number {
			last = max(last, purged)
		}
	}
	return last
}

// checkGap checks a gap. The life of a gap after a purge is not yet known: it may be any life from
// the last known one on.
func (c *chronicle) checkGap(id *stored, k kind, e report) string {
	reached, last := &c.gapped, id.life
	if !c.purged && c.reached[c.life] > 0 {
		highest := c.reached[c.life]
		reached, last = &highest, c.life
		if e.last > id.deleted(c.life) {
			return fmt.Sprintf("the gap ends at %d, deleted are the numbers up to %d", e.last, id.deleted(c.life))
		}
		defer func() { c.reached[c.life] = highest }()
	}
	before := max(*reached, c.unreported(id, e.first))
	if !k.once() {
		before = max(before, c.reached[c.life])
	}
	missed := true
	for life := c.life; life <= last && missed; life++ {
		_, missed = id.passedOver(k, life, before, e.first)
	}
	if e.last < e.first || missed || k.once() && e.first != before+1 {
		return fmt.Sprintf("the gap %d-%d does not follow %d", e.first, e.last, before)
	}
	*reached = max(*reached, e.last)
	return ""
}

// deleted returns the last deleted number of a life.
func (id *stored) deleted(life int) int64 {
	if life < id.life {
		return math.MaxInt64
	}
	return id.deletedTo
}

// afterwards checks the tables after all processes have ended.
func (o *oracle) afterwards() {
	for _, id := range o.stored {
		for g := range o.groups {
			for _, k := range o.kinds {
				key := effectKey(g, k, id.pid)
				r := o.row(groupName(g)+"/"+k.name(), id.pid)
				if why := id.reached(r); why != "" || r.stuck || r.claimed {
					o.fail("%s: when all have ended the row is %+v: %s", key, r, why)
				}
				if !k.once() {
					continue
				}
				out, err := o.table.GetItem(context.Background(), &dynamodb.GetItemInput{
					TableName: aws.String(effectsTable), Key: map[string]types.AttributeValue{"id": text(key)}, ConsistentRead: aws.Bool(true),
				})
				if times := numberOf(out.Item["times"]); err != nil || times != int64(len(o.chronicles[key].entries)) {
					o.fail("%s: the item was written %d times, the stream has %d records: %v", key, times, len(o.chronicles[key].entries), err)
				}
			}
		}
	}
}
