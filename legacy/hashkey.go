package legacy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// hashKey is the layout with a hash key only. What holds in it among writers in Go:
//
//   - A high mark with the value n is put only by who has put, or found, the event n; a low mark with the value n only before
//     the item at n is removed, or after it was marked. Both only move up, and no mark is ever removed.
//   - An event is acknowledged when the high mark of its number is at n or above. Its writer puts it, if nobody has before.
//   - So beyond the highest mark at most the one event stands whose writer has not come to put the mark, or was told that the
//     outcome is unknown. Who looks for the highest number looks there, too; who recovers puts the mark before going on.
//   - A number whose event was removed is free again by its key. A writer that comes late and puts there finds the high mark of
//     its number at n or above already, and the low mark as well, which it had to be before the item at n was removed: it
//     takes its event back and has lost. Without the low mark it was a recovery that has found the event, and marked it.
type hashKey struct {
	client      *dynamo.Client
	table       string
	prefix      string // of every key: the journal's name and a dash, or nothing
	shards      int64
	batch       int64 // keys of one request
	parallelism int
	// start runs a goroutine that the end of the journal waits for.
	start func(work func())
}

// The kinds of keys.
const (
	eventKind = "P"
	highKind  = "SH"
	lowKind   = "SL"
)

func (s *hashKey) key(kind, pid string, n int64) string {
	return s.prefix + kind + "-" + pid + "-" + strconv.FormatInt(n, 10)
}

func (s *hashKey) eventKey(pid string, seq int64) dynamo.Attributes {
	return dynamo.Attributes{attrKey: text(s.key(eventKind, pid, seq))}
}

func (s *hashKey) markKey(kind, pid string, seq int64) dynamo.Attributes {
	return dynamo.Attributes{attrKey: text(s.key(kind, pid, seq%s.shards))}
}

// readMarks reads all marks of a kind, by their shards; -1 where there is none.
func (s *hashKey) readMarks(ctx context.Context, m *dynamo.Meter, kind, pid string) ([]int64, error) {
	keys, values, shardOf := make([]dynamo.Attributes, s.shards), make([]int64, s.shards), make(map[string]int, s.shards)
	for shard := range keys {
		keys[shard], values[shard] = s.markKey(kind, pid, int64(shard)), -1
		shardOf[s.key(kind, pid, int64(shard))] = shard
	}
	items, err := s.client.BatchGet(ctx, m, s.table, keys)
	if err != nil {
		return nil, fmt.Errorf("read the marks: %w", err)
	}
	for _, item := range items {
		key := keyOf(item)
		if values[shardOf[key]], err = sequenceOf(key, item); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func keyOf(item dynamo.Attributes) string {
	if key, ok := item[attrKey].(*types.AttributeValueMemberS); ok {
		return key.Value
	}
	return ""
}

func (s *hashKey) marks(ctx context.Context, m *dynamo.Meter, pid string) (low, high []int64, err error) {
	group, ctx := errgroup.WithContext(ctx)
	for kind, values := range map[string]*[]int64{lowKind: &low, highKind: &high} {
		group.Go(func() error {
			all, err := s.readMarks(ctx, m, kind, pid)
			*values = slices.DeleteFunc(all, func(v int64) bool { return v < 0 })
			slices.Sort(*values)
			return err
		})
	}
	err = group.Wait()
	return low, high, err
}

func (s *hashKey) bounds(ctx context.Context, m *dynamo.Meter, pid string) (dynajournal.Bounds, error) {
	low, high, err := s.marks(ctx, m, pid)
	if err != nil {
		return dynajournal.Bounds{}, err
	}
	var b dynajournal.Bounds
	if len(low) > 0 {
		b.Lowest = low[0]
	}
	if len(high) > 0 {
		b.Highest = high[len(high)-1]
	}
	b.Highest, err = s.beyond(ctx, m, pid, b.Highest)
	return b, err
}

func (s *hashKey) highest(ctx context.Context, m *dynamo.Meter, pid string) (int64, error) {
	high, err := s.readMarks(ctx, m, highKind, pid)
	if err != nil {
		return 0, err
	}
	return s.beyond(ctx, m, pid, max(0, slices.Max(high)))
}

// beyond is the last number that is taken in a row behind a high mark: by an event whose writer has not come to put the mark.
func (s *hashKey) beyond(ctx context.Context, m *dynamo.Meter, pid string, mark int64) (int64, error) {
	for seq := mark; seq < dynajournal.MaxSequenceNumber; seq++ {
		item, err := s.client.Get(ctx, m, s.table, s.eventKey(pid, seq+1))
		if err != nil {
			return 0, fmt.Errorf("read %d: %w", seq+1, err)
		}
		if item == nil {
			return seq, nil
		}
	}
	return dynajournal.MaxSequenceNumber, nil
}

func (s *hashKey) takeOver(ctx context.Context, m *dynamo.Meter, pid string, snapshot int64) (int64, error) {
	for {
		high, err := s.readMarks(ctx, m, highKind, pid)
		if err != nil {
			return 0, err
		}
		mark := max(0, slices.Max(high))
		highest, err := s.beyond(ctx, m, pid, mark)
		if err != nil {
			return 0, err
		}
		for seq := mark + 1; seq <= highest; seq++ {
			if err := s.raise(ctx, m, highKind, pid, seq); err != nil {
				return 0, err
			}
		}
		if snapshot <= highest {
			return highest, nil
		}
		err = s.fence(ctx, m, pid, highest+1)
		if errors.Is(err, dynamo.ErrConditionFailed) { // a writer was faster, or an earlier try of this put
			continue
		}
		if err == nil {
			err = s.raise(ctx, m, highKind, pid, snapshot)
		}
		return snapshot, err
	}
}

// fence takes the number behind the highest before a writer goes on after a snapshot beyond it, as by an event that was
// written and removed: one of before that writes there has lost. dynamo.ErrConditionFailed says that one was faster.
func (s *hashKey) fence(ctx context.Context, m *dynamo.Meter, pid string, seq int64) error {
	if err := s.raise(ctx, m, lowKind, pid, seq); err != nil {
		return err
	}
	return s.putMark(ctx, m, highKind, pid, seq)
}

// markMovesUp is the condition under which a mark is put.
const markMovesUp = "attribute_not_exists(" + attrSequence + ") OR " + attrSequence + " < :v"

func (s *hashKey) putMark(ctx context.Context, m *dynamo.Meter, kind, pid string, seq int64) error {
	item := s.markKey(kind, pid, seq)
	item[attrSequence] = number(seq)
	values := dynamo.Attributes{":v": item[attrSequence]}
	return s.client.Put(ctx, m, dynamo.Put{Table: s.table, Item: item, Condition: markMovesUp, Values: values})
}

// raise puts a mark. One that is as high is as good.
func (s *hashKey) raise(ctx context.Context, m *dynamo.Meter, kind, pid string, seq int64) error {
	err := s.putMark(ctx, m, kind, pid, seq)
	if err != nil && !errors.Is(err, dynamo.ErrConditionFailed) {
		return fmt.Errorf("put the mark %s of %d: %w", kind, seq, err)
	}
	return nil
}

func (s *hashKey) put(ctx context.Context, m *dynamo.Meter, e *newEvent) error {
	ours, err := putEvent(ctx, m, s.client, s.table, attrKey, e)
	if err != nil {
		return err
	}
	err = s.putMark(ctx, m, highKind, e.pid, e.seq)
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, dynamo.ErrConditionFailed):
		return unsure(err) // the event stands, but who looks for it may not yet find it
	}
	low, lowErr := s.lowMark(ctx, m, e.pid, e.seq)
	switch {
	case lowErr != nil:
		return unsure(lowErr)
	case low >= e.seq: // the number had been written and removed, or is being removed
		return s.takeBack(ctx, m, e)
	case !ours: // another writer may have put the same, and its mark
		return unsure(err)
	}
	return nil // marked by an earlier try, or by a recovery that has found the event
}

// lowMark is the low mark of a number's shard; 0 if there is none.
func (s *hashKey) lowMark(ctx context.Context, m *dynamo.Meter, pid string, seq int64) (int64, error) {
	item, err := s.client.Get(ctx, m, s.table, s.markKey(lowKind, pid, seq))
	if err != nil {
		return 0, fmt.Errorf("read the low mark of %d: %w", seq, err)
	}
	if item == nil {
		return 0, nil
	}
	return sequenceOf(keyOf(item), item)
}

// takeBack removes an event that was put at a number that had been removed before: below what anybody goes on from. One that
// was marked meanwhile has been taken over, and stays.
func (s *hashKey) takeBack(ctx context.Context, m *dynamo.Meter, e *newEvent) error {
	err := s.client.Delete(ctx, m, dynamo.Delete{
		Table:     s.table,
		Key:       s.eventKey(e.pid, e.seq),
		Condition: attrPayload + " = :payload AND " + attrDeleted + " = :not",
		Values:    dynamo.Attributes{":payload": e.item[attrPayload], ":not": text(notDeleted)},
	})
	if err != nil && !errors.Is(err, dynamo.ErrConditionFailed) {
		return unsure(err)
	}
	return errTaken
}

// items reads in requests of at most batch keys, of which parallelism are under way at most; what was read ahead of the one
// that is being handed out is held.
func (s *hashKey) items(ctx context.Context, m *dynamo.Meter, pid string, from, to, wanted int64, emit func(int64, dynamo.Attributes) error) error {
	if from > to {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		items map[string]dynamo.Attributes
		err   error
	}
	type request struct {
		lo, hi int64
		answer chan answer
	}
	var ahead []request
	next, done := from, false
	ask := func() {
		hi := to
		if to-next >= s.batch {
			hi = next + s.batch - 1
		}
		r := request{next, hi, make(chan answer, 1)}
		s.start(func() {
			items, err := s.chunk(ctx, m, pid, r.lo, r.hi)
			r.answer <- answer{items, err}
		})
		ahead = append(ahead, r)
		next, done = hi+1, hi == to
	}
	defer func() { // none outlives the reading
		cancel()
		for _, r := range ahead {
			<-r.answer
		}
	}()
	// No more is read ahead than is wanted: not every number has an event, so it may take more requests in the end.
	most := min(int64(s.parallelism), (wanted-1)/s.batch+1)
	for !done || len(ahead) > 0 {
		for !done && int64(len(ahead)) < most {
			ask()
		}
		r := ahead[0]
		got := <-r.answer
		ahead = ahead[1:]
		if got.err != nil {
			return got.err
		}
		for seq := r.lo; ; seq++ {
			if item := got.items[s.key(eventKind, pid, seq)]; item != nil {
				if err := emit(seq, item); err != nil {
					return err
				}
			}
			if seq == r.hi {
				break
			}
		}
	}
	return nil
}

// chunk reads the items of some numbers, by key, in one request where they are not too large for it.
func (s *hashKey) chunk(ctx context.Context, m *dynamo.Meter, pid string, lo, hi int64) (map[string]dynamo.Attributes, error) {
	keys := make([]dynamo.Attributes, hi-lo+1)
	for i := range keys {
		keys[i] = s.eventKey(pid, lo+int64(i))
	}
	items, err := s.client.BatchGet(ctx, m, s.table, keys)
	if err != nil {
		return nil, fmt.Errorf("read %d to %d: %w", lo, hi, err)
	}
	byKey := make(map[string]dynamo.Attributes, len(items))
	for _, item := range items {
		byKey[keyOf(item)] = item
	}
	return byKey, nil
}

// deleteTo goes up in steps, each done before the next begins. A step has no more numbers than there are shards, so a low mark
// only gives way to that of a number whose step comes later: what a crash leaves is never below all low marks, and the next
// deletion begins there.
func (s *hashKey) deleteTo(ctx context.Context, m *dynamo.Meter, pid string, to, _ int64, mark bool) (int64, error) {
	low, err := s.readMarks(ctx, m, lowKind, pid)
	if err != nil {
		return 0, err
	}
	deleted, step := int64(0), min(s.batch, s.shards)
	for lo := s.firstLeft(low); lo <= to; {
		hi := lo + min(step-1, to-lo)
		n, err := s.deleteStep(ctx, m, pid, lo, hi, low, mark)
		deleted += n
		if err != nil {
			return deleted, fmt.Errorf("delete %d to %d: %w", lo, hi, err)
		}
		lo = hi + 1
	}
	return deleted, nil
}

// firstLeft is the first number that may not have been deleted. Only where every shard has a low mark, and these are of
// numbers in a row, is all below them known to be deleted; else single events may have been.
func (s *hashKey) firstLeft(low []int64) int64 {
	least, most := slices.Min(low), slices.Max(low)
	if least < 1 || most-least != s.shards-1 {
		return 1
	}
	return least
}

// deleteStep deletes the numbers lo to hi. low are the values of the low marks by shard.
func (s *hashKey) deleteStep(ctx context.Context, m *dynamo.Meter, pid string, lo, hi int64, low []int64, mark bool) (int64, error) {
	items, err := s.chunk(ctx, m, pid, lo, hi)
	if err != nil {
		return 0, err
	}
	if mark {
		deleted, err := s.markEvents(ctx, m, pid, lo, hi, items)
		if err != nil {
			return deleted, err
		}
		return deleted, s.raiseLowMarks(ctx, m, pid, lo, hi, low)
	}
	if err := s.raiseLowMarks(ctx, m, pid, lo, hi, low); err != nil {
		return 0, err
	}
	var keys []dynamo.Attributes
	deleted := int64(0)
	for key, item := range items {
		keys = append(keys, dynamo.Attributes{attrKey: text(key)})
		if item[attrPayload] != nil {
			deleted++
		}
	}
	if err := s.client.BatchDelete(ctx, m, s.table, keys, nil); err != nil {
		return 0, err
	}
	return deleted, nil
}

// raiseLowMarks puts the low mark of each number; nothing where it is as high already.
func (s *hashKey) raiseLowMarks(ctx context.Context, m *dynamo.Meter, pid string, lo, hi int64, low []int64) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.parallelism)
	for seq := lo; seq <= hi; seq++ {
		if low[seq%s.shards] >= seq {
			continue
		}
		group.Go(func() error { return s.raise(ctx, m, lowKind, pid, seq) })
	}
	return group.Wait()
}

// markEvents marks the events among some items.
func (s *hashKey) markEvents(ctx context.Context, m *dynamo.Meter, pid string, lo, hi int64, items map[string]dynamo.Attributes) (int64, error) {
	var keys []dynamo.Attributes
	for seq := lo; seq <= hi; seq++ {
		if item := items[s.key(eventKind, pid, seq)]; item != nil && item[attrPayload] != nil && !marked(item) {
			keys = append(keys, s.eventKey(pid, seq))
		}
	}
	return markDeleted(ctx, m, s.client, s.table, keys, s.parallelism)
}

// The scan reads events and high marks. What has neither has no event and never had one.
func (s *hashKey) scan() *dynamodb.ScanInput {
	return &dynamodb.ScanInput{
		ProjectionExpression: aws.String("#key"),
		FilterExpression: aws.String("begins_with(#key, :event) AND attribute_exists(" + attrPayload + ") OR " +
			"begins_with(#key, :high) AND attribute_exists(" + attrSequence + ")"),
		ExpressionAttributeNames:  map[string]string{"#key": attrKey},
		ExpressionAttributeValues: dynamo.Attributes{":event": text(s.prefix + eventKind + "-"), ":high": text(s.prefix + highKind + "-")},
	}
}

func (s *hashKey) idOf(item dynamo.Attributes) string {
	rest, ok := strings.CutPrefix(keyOf(item), s.prefix)
	if !ok {
		return ""
	}
	kind, rest, _ := strings.Cut(rest, "-")
	dash := strings.LastIndexByte(rest, '-')
	if dash < 1 {
		return ""
	}
	n, err := strconv.ParseInt(rest[dash+1:], 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != rest[dash+1:] || kind == highKind && n >= s.shards || kind == eventKind && n == 0 {
		return ""
	}
	return rest[:dash]
}
