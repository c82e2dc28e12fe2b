// Package ids lists the persistence ids of a journal: by the sparse index of native journals
// (native.go), or by the plug-ins' index or a scan (shared.go).
package ids

import (
	"context"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// Store lists persistence ids.
type Store struct {
	Client *dynamo.Client
	Table  string
	Keys   layout.Keys
	// IDsShards is the number of shards of the sparse index.
	IDsShards int64
	// Index is the name of the plug-ins' index.
	Index string
	// Go runs a function that reads ahead in a goroutine. The end of the journal waits for that
	// goroutine. If Go is nil, nothing waits for it.
	Go func(work func())
}

// start runs work in a goroutine of group.
func (s *Store) start(group *sync.WaitGroup, work func()) {
	group.Add(1)
	counted := func() {
		defer group.Done()
		work()
	}
	if s.Go == nil {
		go counted()
		return
	}
	s.Go(counted)
}

// Window selects persistence ids.
type Window struct {
	// After is the id after which the listing starts, in its order. Empty starts at the beginning.
	After string
	// Prefix is the common prefix of the ids.
	Prefix string
}

// Native lists by the sparse index: sorted, each id once, with one page of each shard in memory.
func (s *Store) Native(ctx context.Context, m *dynamo.Meter, w Window, emit func(pid string) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	var shards sync.WaitGroup
	defer shards.Wait()
	defer cancel()
	sources := make([]*shardIDs, s.IDsShards)
	for i := range sources {
		source := &shardIDs{pages: make(chan idsPage, 1)}
		sources[i] = source
		s.start(&shards, func() { s.readShard(ctx, m, int64(i), w, source.pages) })
	}
	for _, source := range sources {
		if err := source.advance(ctx); err != nil {
			return err
		}
	}
	for {
		least := leastOf(sources)
		if least == nil {
			return nil
		}
		// An id has an entry for its first event and one for each low mark, all in one shard, next
		// to each other.
		if pid := least.ids[0]; pid != least.last {
			least.last = pid
			if !emit(pid) {
				return nil
			}
		}
		if err := least.advance(ctx); err != nil {
			return err
		}
	}
}

// leastOf returns the shard whose next id is the least, or nil if all shards have ended.
func leastOf(shards []*shardIDs) *shardIDs {
	var least *shardIDs
	for _, s := range shards {
		if s.left() && (least == nil || s.ids[0] < least.ids[0]) {
			least = s
		}
	}
	return least
}

type idsPage struct {
	ids []string
	err error
}

// shardIDs are the sorted ids of one shard of the index.
type shardIDs struct {
	pages   chan idsPage
	started bool
	ids     []string
	last    string
}

func (s *shardIDs) left() bool { return len(s.ids) > 0 }

// advance drops the current id, and waits for the next page after the last id of one. A shard that
// ended because of the context is an error: it may be incomplete.
func (s *shardIDs) advance(ctx context.Context) error {
	if s.started {
		s.ids = s.ids[1:]
	}
	s.started = true
	for len(s.ids) == 0 {
		page, ok := <-s.pages
		if !ok {
			s.ids = nil
			return context.Cause(ctx)
		}
		if page.err != nil {
			return page.err
		}
		s.ids = page.ids
	}
	return nil
}

// readShard reads one shard, one page ahead of the consumer.
func (s *Store) readShard(ctx context.Context, m *dynamo.Meter, shard int64, w Window, pages chan<- idsPage) {
	defer close(pages)
	send := func(p idsPage) bool {
		select {
		case pages <- p:
			return p.err == nil
		case <-ctx.Done():
			return false
		}
	}
	q := s.shardQuery(shard, w)
	for {
		page, err := s.Client.Query(ctx, m, q)
		if err != nil {
			send(idsPage{err: err})
			return
		}
		found, over, err := s.pageIDs(page.Items, w)
		if len(found) > 0 || err != nil {
			if !send(idsPage{found, err}) {
				return
			}
		}
		if over || page.Next == nil {
			return
		}
		q.ExclusiveStartKey = page.Next
	}
}

// shardQuery returns the query of a window in one shard. It starts at the later of After and
// Prefix.
func (s *Store) shardQuery(shard int64, w Window) *dynamodb.QueryInput {
	from, operator := s.Keys.IDsKeyPrefix()+w.Prefix, " >= :from"
	if w.After != "" && w.After >= w.Prefix {
		from, operator = s.Keys.IDsKeyPrefix()+w.After, " > :from"
	}
	attributes := s.Keys.IDsAttributesOf(shard, from)
	return &dynamodb.QueryInput{
		TableName:              &s.Table,
		IndexName:              aws.String(layout.NativeIDsIndex),
		KeyConditionExpression: aws.String(layout.AttrIDsShard + " = :shard AND " + layout.AttrIDsKey + operator),
		ExpressionAttributeValues: dynamo.Attributes{
			":shard": attributes[layout.AttrIDsShard],
			":from":  attributes[layout.AttrIDsKey],
		},
	}
}

// pageIDs returns the ids of the entries of a page. It reports true if the window has ended.
func (s *Store) pageIDs(items []layout.Attributes, w Window) ([]string, bool, error) {
	found := make([]string, 0, len(items))
	prefix := s.Keys.IDsKeyPrefix()
	for _, item := range items {
		key, ok := item[layout.AttrIDsKey].(*types.AttributeValueMemberS)
		if !ok {
			return found, false, &layout.ItemError{Attribute: layout.AttrIDsKey, Err: layout.ErrWrongType}
		}
		pid, ours := strings.CutPrefix(key.Value, prefix)
		if !ours || !strings.HasPrefix(pid, w.Prefix) {
			return found, true, nil
		}
		found = append(found, pid)
	}
	return found, false, nil
}
