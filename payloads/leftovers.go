package payloads

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/serialization"
)

// Bounds of Options.MinAge.
const (
	DefaultMinAge = 24 * time.Hour
	MinMinAge     = time.Hour
)

// minItemSize is the smallest Config.MaxItemSize that Leftovers accepts. With this size, a
// reference in a split snapshot is always in a single item.
const minItemSize = 4096

// Options are the options of [Leftovers]. The zero value has the defaults.
type Options struct {
	// MinAge is the minimum age of a leftover, by the local clock and by the time of DynamoDB. The
	// item that refers to a younger payload may not be written yet: an event, snapshot or state can
	// be written up to half an hour after its payload was put. MinAge must be longer than the error
	// of the store's clock.
	//
	// At least 1 hour ([MinMinAge]). Defaults to 24 hours ([DefaultMinAge]).
	MinAge time.Duration
	// Tables are further tables whose items can refer to payloads of the store: tables of other
	// journals that share the store, or tables that items were copied to. If such a table is
	// missing here, its payloads are reported as leftovers.
	//
	// Defaults to none.
	Tables []string
	// Segments is the number of requests that read a table at the same time.
	//
	// From 1 to 1,000. Defaults to 4.
	Segments int
}

// Found is the result of [Leftovers].
type Found struct {
	// Leftovers are the payloads that nothing refers to, ordered by key.
	Leftovers []Stored
	// Listed is the number of payloads in the store. Young is the number of payloads that are
	// younger than Options.MinAge. Items refer to all others.
	Listed, Young int
	// Cost is the cost of reading the tables: all of their items are read, with strong consistency.
	Cost dynajournal.Cost
}

// Leftovers finds the payloads in the store of a journal that nothing refers to. It does not change
// anything. To remove the payloads, delete their keys.
//
// Leftovers first lists the store. Then it reads all items of the tables, including items that
// readers of the journal do not see, so a payload is not a leftover as long as any item refers to
// it. Do not run it while items with references are copied into the tables. After an error, no
// payload is reported as a leftover.
//
// It needs about 150 bytes of memory for each payload in the store, and the read units of a Scan of
// each table.
//
// Errors: dynajournal.ErrInvalidArgument, errors of the store, and errors of requests.
func Leftovers(ctx context.Context, journal *dynajournal.Journal, store Store, opts Options) (Found, error) {
	j := core.Of(journal)
	if err := opts.complete(j.MaxItemSize); err != nil {
		return Found{}, err
	}
	var found Found
	unreferred, err := list(ctx, store, j.Clock.Earliest().Add(-opts.MinAge), &found)
	if err != nil {
		return Found{}, fmt.Errorf("list the payloads: %w", err)
	}
	m := &dynamo.Meter{}
	tables := append([]string{j.Table, j.SnapshotTable}, opts.Tables...)
	err = j.Requests(ctx, dynamo.ForPayloads, func(ctx context.Context, client *dynamo.Client) error {
		for _, table := range tables {
			if err := deleteReferenced(ctx, client, m, table, opts.Segments, unreferred); err != nil {
				return fmt.Errorf("read the references in table %q: %w", table, err)
			}
		}
		return nil
	})
	if err != nil {
		return Found{}, err
	}
	for _, stored := range unreferred {
		found.Leftovers = append(found.Leftovers, stored)
	}
	slices.SortFunc(found.Leftovers, func(a, b Stored) int { return cmp.Compare(a.Key, b.Key) })
	found.Cost = dynajournal.Cost(m.Cost())
	return found, nil
}

// complete fills in the defaults, and checks the options.
func (o *Options) complete(itemSize int) error {
	const mostSegments = 1000
	if o.MinAge == 0 {
		o.MinAge = DefaultMinAge
	}
	if o.Segments == 0 {
		o.Segments = 4
	}
	switch {
	case o.MinAge < MinMinAge:
		return &dynajournal.ArgumentError{Argument: "Options.MinAge", Value: o.MinAge, Reason: "it must be at least an hour"}
	case o.Segments < 1 || o.Segments > mostSegments:
		return &dynajournal.ArgumentError{Argument: "Options.Segments", Value: o.Segments, Reason: "it must be from 1 to 1,000"}
	case itemSize < minItemSize:
		return &dynajournal.ArgumentError{Argument: "Config.MaxItemSize", Value: itemSize,
			Reason: fmt.Sprintf("it must be at least %d, so that no reference is split", minItemSize)}
	}
	return nil
}

// list returns the payloads that were put before a time, by key. It skips objects whose key can't
// be the key of a payload.
func list(ctx context.Context, store Store, before time.Time, found *Found) (map[string]Stored, error) {
	old := map[string]Stored{}
	for stored, err := range store.List(ctx) {
		if err != nil {
			return nil, err
		}
		if !serialization.IsReferenceKey(stored.Key) {
			continue
		}
		found.Listed++
		if stored.Time.After(before) {
			found.Young++
			continue
		}
		old[stored.Key] = stored
	}
	return old, ctx.Err()
}

// deleteReferenced deletes from unreferred the payloads that the items of a table refer to.
func deleteReferenced(
	ctx context.Context, client *dynamo.Client, m *dynamo.Meter, table string, segments int,
	unreferred map[string]Stored,
) error {
	var mu sync.Mutex
	reading, ctx := errgroup.WithContext(ctx)
	for i := range segments {
		reading.Go(func() error {
			in := &dynamodb.ScanInput{
				TableName: &table, ConsistentRead: aws.Bool(true),
				Segment: aws.Int32(int32(i)), TotalSegments: aws.Int32(int32(segments)),
			}
			for {
				page, err := client.Scan(ctx, m, in)
				if err != nil {
					return err
				}
				mu.Lock()
				for _, item := range page.Items {
					eachReference(item, func(key string) { delete(unreferred, key) })
				}
				mu.Unlock()
				if len(page.Next) == 0 {
					return nil
				}
				in.ExclusiveStartKey = page.Next
			}
		})
	}
	return reading.Wait()
}

// eachReference calls found with the key of each reference in an item. A reference may be
// surrounded by other bytes, as in the protobuf message of the older event format.
func eachReference(item dynamo.Attributes, found func(key string)) {
	for _, value := range item {
		data, is := value.(*types.AttributeValueMemberB)
		if !is {
			continue
		}
		for rest := data.Value; ; {
			at := bytes.Index(rest, []byte(serialization.ReferencePrefix))
			if at < 0 {
				break
			}
			rest = rest[at+len(serialization.ReferencePrefix):]
			if len(rest) >= serialization.ReferenceKeySize {
				found(string(rest[:serialization.ReferenceKeySize]))
			}
		}
	}
}
