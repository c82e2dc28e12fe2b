package projection_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/testseed"
	"github.com/dynajournal/dynajournal/projection"
)

// chronicle records the calls of a projection for one persistence id, in order. An entry is a life
// and the first and last number of an event or a gap. A purge has the number 0, and its last one.
type chronicle struct {
	mu      sync.Mutex
	entries map[string][]entry
}

type entry struct {
	life        string // empty for a gap, whose life is not known
	first, last int64
}

// chance decides which calls of handlers fail, and what happens to invocations.
var chance = testseed.NewShared(1)

func (c *chronicle) add(pid string, e entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[string][]entry{}
	}
	c.entries[pid] = append(c.entries[pid], e)
}

// of returns the entries of a persistence id so far.
func (c *chronicle) of(pid string) []entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.entries[pid])
}

func lifeOf(e dynajournal.Event) (string, error) {
	return dynajournal.Decode[string](context.Background(), e)
}

// Handle records an event. One of twenty calls fails.
func (c *chronicle) Handle(_ context.Context, e dynajournal.Event) error {
	if chance.IntN(20) == 0 {
		return errWanted
	}
	life, err := lifeOf(e)
	c.add(e.PersistenceID, entry{life, e.SequenceNumber, e.SequenceNumber})
	return err
}

func (c *chronicle) HandleGap(_ context.Context, g projection.Gap) error {
	c.add(g.PersistenceID, entry{"", g.First, g.Last})
	return nil
}

func (c *chronicle) HandlePurge(_ context.Context, p projection.Purge) error {
	c.add(p.PersistenceID, entry{"purge", 0, p.Last})
	return nil
}

// ledger is a transactional handler that appends each event, gap and purge to a list in an item of
// the persistence id.
type ledger struct{}

func (ledger) put(pid, text string) []types.TransactWriteItem {
	return []types.TransactWriteItem{{Update: &types.Update{
		TableName:        aws.String(effectsTable),
		Key:              map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: pid}},
		UpdateExpression: aws.String("SET entries = list_append(if_not_exists(entries, :none), :one)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":none": &types.AttributeValueMemberL{},
			":one":  &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberS{Value: text}}},
		},
	}}}
}

func (l ledger) Handle(_ context.Context, e dynajournal.Event) ([]types.TransactWriteItem, error) {
	if chance.IntN(20) == 0 {
		return nil, errWanted
	}
	life, err := lifeOf(e)
	return l.put(e.PersistenceID, fmt.Sprintf("%s %d %d", life, e.SequenceNumber, e.SequenceNumber)), err
}

func (l ledger) HandleGap(_ context.Context, g projection.Gap) ([]types.TransactWriteItem, error) {
	return l.put(g.PersistenceID, fmt.Sprintf("gap %d %d", g.First, g.Last)), nil
}

func (l ledger) HandlePurge(_ context.Context, p projection.Purge) ([]types.TransactWriteItem, error) {
	return l.put(p.PersistenceID, fmt.Sprintf("purge 0 %d", p.Last)), nil
}

// entries reads the ledger of a persistence id.
func (ledger) entries(b *bundle, pid string) []entry {
	out, err := b.table.GetItem(b.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(effectsTable), ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: pid}},
	})
	if err != nil {
		b.Fatal(err)
	}
	list, _ := out.Item["entries"].(*types.AttributeValueMemberL)
	if list == nil {
		return nil
	}
	var all []entry
	for _, v := range list.Value {
		var e entry
		if _, err := fmt.Sscanf(v.(*types.AttributeValueMemberS).Value, "%s %d %d", &e.life, &e.first, &e.last); err != nil {
			b.Fatal(err)
		}
		if e.life == "gap" {
			e.life = ""
		}
		all = append(all, e)
	}
	return all
}

// committed are the acknowledged events of a persistence id: for each life, the number of its
// events.
type committed struct {
	life string
	last int64
	// fresh reports that the life started after the last round, because everything was erased. Then
	// nothing is deleted or purged: if that were beyond the offset of the life before, it would
	// hide the erasure.
	fresh bool
	// purges are the last numbers of purges that have left a low mark. They are not reported to a
	// projection that has not handled anything before.
	purges []int64
}

// reportedBy reports whether the entries contain the last event of the life.
func (c committed) reportedBy(entries []entry) bool {
	return slices.ContainsFunc(entries, func(e entry) bool { return e.life == c.life && e.last == c.last })
}

// checkOrder checks that no number of a life comes before the number below it, and that the last
// life is complete. With once, no number comes twice. Without it, a process that was wrongly taken
// for dead may record purged events, or a purge, after another process has recorded later events.
func checkOrder(t *testing.T, what string, entries []entry, now committed, once bool) {
	t.Helper()
	reached, purged, life := int64(0), int64(0), ""
	if len(entries) > 0 && slices.Contains(now.purges, entries[0].first-1) {
		reached = entries[0].first - 1
	}
	var before entry // the last entry before the last purge
	for i, e := range entries {
		fail := func(text string) { t.Errorf("%s: entry %d, %v, %s\n%v", what, i, e, text, entries) }
		late := e.last > 0 && e.last <= purged
		if late && once {
			fail("is recorded after the purge")
		}
		if late {
			continue
		}
		if e.life == "purge" {
			if life != "" {
				before = entry{life: life, last: reached}
			}
			reached, purged, life = e.last, e.last, ""
			continue
		}
		if !once && life == "" && e.life != "" && e.life == before.life {
			reached, life = before.last, before.life
		}
		switch {
		case e.life != "" && life != "" && e.life != life:
			fail("is of another life, without a purge")
		case e.first > reached+1:
			fail(fmt.Sprintf("passes over %d", reached+1))
		case once && e.first <= reached:
			fail("is recorded twice")
		}
		if e.life != "" {
			life = e.life
		}
		reached = max(reached, e.last)
	}
	if reached < now.last || life != "" && life != now.life {
		t.Errorf("%s: recorded up to %d of life %s, want %d of life %s\n%v", what, reached, life, now.last, now.life, entries)
	}
}
