package ids

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// A persistence id is listed by the item at its number 1, which is an event, a seal or a tombstone,
// or, if that item is missing, by a low mark. The key alone shows both, and the plug-ins' index has
// only keys. So each id is emitted once, without remembering all of them: for a low mark, the
// listing reads whether the item at number 1, or a low mark in an earlier shard, lists the id. A
// listing by index remembers the ids of its first page, which in most journals are all: it does not
// read anything for their low marks. A deletion leaves the item that lists the id.
//
// A tombstone lists an id only if a low mark lists the id: otherwise the id was purged. The low
// mark of a purge stays in a native journal. It lists the id only if the id is used again: if
// something of its present life is deleted, or if an event or a seal is stored at the first number
// after the purge.

// idItem is an item that can list an id.
type idItem struct {
	pid string
	key layout.Key
	// shard is the shard of a low mark, or -1 for the item at number 1.
	shard int64
	// tombstone reports that the item expires. The plug-ins' index does not show that.
	tombstone bool
	// ambiguous reports that the key could also be the key of another journal.
	ambiguous bool
	// lifeStart is the number that decides whether a purged id is used again, or 0. See
	// Store.lifeStart.
	lifeStart int64
}

// idItemOf returns the id that an item can list, by its key.
func (s *Store) idItemOf(key layout.Key) (idItem, bool) {
	switch key.Num {
	case 1:
		rest, ok := strings.CutPrefix(key.Par, s.Keys.Journal)
		if rest, of := strings.CutPrefix(rest, "-P-"); ok && of {
			if pid, ok := strings.CutSuffix(rest, "-0"); ok && pid != "" {
				return idItem{pid: pid, key: key, shard: -1, ambiguous: s.ambiguous(pid)}, true
			}
		}
	case 0:
		if rest, ok := strings.CutPrefix(key.Par, s.Keys.Journal+"-SL-"); ok {
			if dash := strings.LastIndexByte(rest, '-'); dash > 0 {
				shard, err := strconv.ParseInt(rest[dash+1:], 10, 64)
				pid := rest[:dash]
				return idItem{pid: pid, key: key, shard: shard, ambiguous: s.ambiguous(pid)}, err == nil && shard >= 0 && shard < s.Keys.Shards
			}
		}
	}
	return idItem{}, false
}

// ambiguous reports whether the keys of an id could also be read as keys of another journal: the
// separator of journal and id can also be a part of the journal's name, or of the id.
func (s *Store) ambiguous(pid string) bool {
	for _, kind := range []string{"-P-", "-SL-", "-SH-"} {
		if strings.Contains(pid, kind) || strings.HasPrefix(pid, kind[1:]) ||
			strings.Contains(s.Keys.Journal, kind) || strings.HasSuffix(s.Keys.Journal, kind[:len(kind)-1]) {
			return true
		}
	}
	return false
}

// SharedByIndex lists by the plug-ins' index, in the order of the index: first the ids with an item
// at number 1, then the others.
func (s *Store) SharedByIndex(ctx context.Context, m *dynamo.Meter, w Window, emit func(pid string) bool) error {
	after, err := s.position(ctx, m, w.After)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, num := range []int64{1, 0} {
		if after != nil && after.Num != num {
			continue // the listing was past this half
		}
		q := &dynamodb.QueryInput{
			TableName:                 &s.Table,
			IndexName:                 &s.Index,
			KeyConditionExpression:    aws.String(layout.AttrNum + " = :n"),
			ExpressionAttributeValues: dynamo.Attributes{":n": &types.AttributeValueMemberN{Value: strconv.FormatInt(num, 10)}},
		}
		if after != nil {
			q.ExclusiveStartKey = after.Attributes()
			after = nil
		}
		firstPage := num == 1
		emitPage := func(pids []string) bool {
			if firstPage {
				firstPage = false
				for _, pid := range pids {
					known[pid] = true
				}
			}
			return each(emit)(pids)
		}
		more, err := s.pages(ctx, m, w, known, emitPage, func(ctx context.Context) (dynamo.Page, error) {
			page, err := s.Client.Query(ctx, m, q)
			q.ExclusiveStartKey = page.Next
			return page, err
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// Scan lists by reading the whole table, in the table's own order. Several segments are read in
// parallel, and no later listing can continue in their order: After must be empty then.
func (s *Store) Scan(ctx context.Context, m *dynamo.Meter, w Window, segments int, emit func(pid string) bool) error {
	after, err := s.position(ctx, m, w.After)
	if err != nil {
		return err
	}
	scan := func(ctx context.Context, in *dynamodb.ScanInput, emit func([]string) bool) error {
		if after != nil {
			in.ExclusiveStartKey = after.Attributes()
		}
		_, err := s.pages(ctx, m, w, nil, emit, func(ctx context.Context) (dynamo.Page, error) {
			page, err := s.Client.Scan(ctx, m, in)
			in.ExclusiveStartKey = page.Next
			return page, err
		})
		return err
	}
	if segments <= 1 {
		return scan(ctx, s.scanInput(), each(emit))
	}
	return s.together(ctx, segments, each(emit), func(ctx context.Context, i int, emit func([]string) bool) error {
		in := s.scanInput()
		in.Segment, in.TotalSegments = aws.Int32(int32(i)), aws.Int32(int32(segments))
		return scan(ctx, in, emit)
	})
}

// together runs parts in parallel, and emits their ids on the caller's goroutine. It returns after
// all have finished.
func (s *Store) together(
	ctx context.Context, parts int, emit func([]string) bool, part func(ctx context.Context, i int, emit func([]string) bool) error,
) error {
	ctx, cancel := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	found, ended := make(chan []string), make(chan error, 1)
	var closing sync.WaitGroup
	defer closing.Wait()
	defer cancel()
	for i := range parts {
		group.Go(func() error {
			cut := false
			err := part(ctx, i, func(pids []string) bool {
				select {
				case found <- pids:
				case <-ctx.Done():
					cut = true
				}
				return !cut
			})
			if err == nil && cut {
				err = context.Cause(ctx)
			}
			return err
		})
	}
	s.start(&closing, func() {
		ended <- group.Wait()
		close(found)
	})
	for pids := range found {
		if !emit(pids) {
			return nil
		}
	}
	return <-ended
}

// each emits ids one by one.
func each(emit func(string) bool) func([]string) bool {
	return func(pids []string) bool {
		for _, pid := range pids {
			if !emit(pid) {
				return false
			}
		}
		return true
	}
}

// scanInput returns the scan of the items that can list ids. It leaves out a low mark that expires:
// an earlier version has put it, and purged the id.
func (s *Store) scanInput() *dynamodb.ScanInput {
	return &dynamodb.ScanInput{
		TableName:      &s.Table,
		ConsistentRead: aws.Bool(true),
		ProjectionExpression: aws.String(strings.Join(
			[]string{layout.AttrPar, layout.AttrNum, layout.AttrExpires, layout.AttrSeq, layout.AttrPurged}, ", ")),
		FilterExpression: aws.String(layout.AttrNum + " = :one AND begins_with(" + layout.AttrPar + ", :p) OR " +
			layout.AttrNum + " = :zero AND begins_with(" + layout.AttrPar + ", :sl) AND attribute_not_exists(" + layout.AttrExpires + ")"),
		ExpressionAttributeValues: dynamo.Attributes{
			":one":  &types.AttributeValueMemberN{Value: "1"},
			":zero": &types.AttributeValueMemberN{Value: "0"},
			":p":    &types.AttributeValueMemberS{Value: s.Keys.Journal + "-P-"},
			":sl":   &types.AttributeValueMemberS{Value: s.Keys.Journal + "-SL-"},
		},
	}
}

// position returns the key of the item that listed an id, or nil. A listing continues after that
// key.
func (s *Store) position(ctx context.Context, m *dynamo.Meter, pid string) (*layout.Key, error) {
	if pid == "" {
		return nil, nil //nolint:nilnil // nil is a result
	}
	first, marks := s.Keys.Event(pid, 1), s.Keys.LowMarks(pid)
	there := items{}
	if err := s.readItems(ctx, m, there, append([]layout.Key{first}, marks...)); err != nil {
		return nil, err
	}
	if !there.exists(first, pid) {
		for _, key := range marks {
			if s.lowMark(there[key], pid) {
				return &key, nil
			}
		}
	}
	return &first, nil // even if it is gone: the listing continues at its position
}

// pages reads all pages, and emits the ids of each without the known ones. It reports false if emit
// did.
func (s *Store) pages(
	ctx context.Context, m *dynamo.Meter, w Window, known map[string]bool, emit func([]string) bool, read func(context.Context) (dynamo.Page, error),
) (bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	var reader sync.WaitGroup
	defer reader.Wait()
	defer cancel()
	next := func() (dynamo.Page, error) { return read(ctx) }
	for first := true; ; first = false {
		page, err := next()
		if err != nil {
			return false, err
		}
		entries, err := s.entriesOf(page, w, known)
		if err != nil {
			return false, err
		}
		pids, err := s.resolve(ctx, m, entries)
		if err != nil {
			return false, err
		}
		if len(pids) > 0 && !emit(pids) {
			return false, nil
		}
		if page.Next == nil {
			return true, nil
		}
		if first { // a listing that ends on its first page reads no second
			next = s.readAhead(ctx, &reader, read)
		}
	}
}

// entriesOf returns the items of a page that can list an id of the window, without the known ids.
func (s *Store) entriesOf(page dynamo.Page, w Window, known map[string]bool) ([]idItem, error) {
	entries := make([]idItem, 0, len(page.Items))
	for _, item := range page.Items {
		key, err := layout.DecodeKey(item)
		if err != nil {
			return nil, fmt.Errorf("table %q: %w", s.Table, err)
		}
		if e, ok := s.idItemOf(key); ok && strings.HasPrefix(e.pid, w.Prefix) && !known[e.pid] {
			_, e.tombstone = item[layout.AttrExpires]
			e.lifeStart = s.lifeStart(item, e.pid)
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// readAhead reads a page while the previous one is being processed. Its read ends with ctx, and is
// counted in reader.
func (s *Store) readAhead(
	ctx context.Context, reader *sync.WaitGroup, read func(context.Context) (dynamo.Page, error),
) func() (dynamo.Page, error) {
	type result struct {
		page dynamo.Page
		err  error
	}
	pages := make(chan result)
	s.start(reader, func() {
		for {
			page, err := read(ctx)
			select {
			case pages <- result{page, err}:
			case <-ctx.Done():
				return
			}
			if err != nil || page.Next == nil {
				return
			}
		}
	})
	return func() (dynamo.Page, error) {
		select {
		case r := <-pages:
			return r.page, r.err
		case <-ctx.Done():
			return dynamo.Page{}, context.Cause(ctx)
		}
	}
}

// resolve returns only the ids that entries list. It makes few reads for all of them: first the
// items at the keys that decide, then the low marks of ids whose item at number 1 does not decide,
// then the first numbers after a purge.
func (s *Store) resolve(ctx context.Context, m *dynamo.Meter, entries []idItem) ([]string, error) {
	there, deciding := items{}, s.decidingKeys(entries)
	if err := s.readItems(ctx, m, there, deciding); err != nil {
		return nil, err
	}
	if err := s.readItems(ctx, m, there, s.undecidedMarks(there, entries)); err != nil {
		return nil, err
	}
	if err := s.readItems(ctx, m, there, s.lifeStartKeys(there, entries)); err != nil {
		return nil, err
	}
	pids := make([]string, 0, len(entries))
	// On a page with low marks, the item at number 1 may have gone since the page was read.
	var before map[string]bool
	if len(deciding) > 0 {
		before = make(map[string]bool, len(entries))
	}
	for _, e := range entries {
		lists, err := s.lists(ctx, m, there, e)
		if err != nil {
			return nil, err
		}
		if lists && !before[e.pid] {
			pids = append(pids, e.pid)
			if before != nil {
				before[e.pid] = true
			}
		}
	}
	return pids, nil
}

// decidingKeys returns the keys of the items that decide whether entries list their ids.
func (s *Store) decidingKeys(entries []idItem) []layout.Key {
	var keys []layout.Key
	for _, e := range entries {
		if e.ambiguous {
			keys = append(keys, e.key)
		}
		if e.shard >= 0 {
			keys = append(keys, s.Keys.Event(e.pid, 1))
			keys = append(keys, s.Keys.LowMarks(e.pid)[:e.shard]...)
		}
	}
	return keys
}

// undecidedMarks returns the keys of the low marks of ids whose item at number 1 does not decide.
func (s *Store) undecidedMarks(there items, entries []idItem) []layout.Key {
	var keys []layout.Key
	for _, e := range entries {
		if e.shard < 0 && !there.lists(e) {
			keys = append(keys, s.Keys.LowMarks(e.pid)...)
		}
	}
	return keys
}

// lists reports whether an entry lists its id.
func (s *Store) lists(ctx context.Context, m *dynamo.Meter, there items, e idItem) (bool, error) {
	if e.shard < 0 && there.lists(e) { // nearly all
		return true, nil
	}
	marks := s.Keys.LowMarks(e.pid)
	switch {
	case e.shard >= 0 && (e.ambiguous && !s.lowMark(there[e.key], e.pid) || there.exists(s.Keys.Event(e.pid, 1), e.pid)):
		return false, nil
	case e.shard >= 0 && !s.usedAgain(there, e.lifeStart, e.pid):
		return false, nil
	case e.shard >= 0:
		return !s.anyLowMark(there, marks[:e.shard], e.pid), nil
	case e.ambiguous && there.foreign(e.key, e.pid):
		return false, nil
	case s.anyLowMark(there, marks, e.pid):
		return true, nil
	case e.ambiguous && there.seal(e.key):
		return s.hasEvent(ctx, m, e)
	}
	return false, nil
}

// lifeStartKeys returns the keys of the items that decide whether purged ids are used again. The
// low marks that decide were read before, into there, or are entries.
func (s *Store) lifeStartKeys(there items, entries []idItem) []layout.Key {
	var keys []layout.Key
	add := func(lifeStart int64, pid string) {
		if lifeStart > 0 {
			keys = append(keys, s.Keys.Event(pid, lifeStart))
		}
	}
	for _, e := range entries {
		add(e.lifeStart, e.pid)
		if e.shard < 0 && there.lists(e) {
			continue
		}
		for _, key := range s.Keys.LowMarks(e.pid) {
			add(s.lifeStart(there[key], e.pid), e.pid)
		}
	}
	return keys
}

// lifeStart returns the first number after the purge that a low mark names, if nothing after the
// purge is deleted. Then the item at that number lists the id, and not the low mark. For any other
// item lifeStart returns 0.
func (s *Store) lifeStart(item layout.Attributes, pid string) int64 {
	if item[layout.AttrPurged] == nil || item[layout.AttrSeq] == nil {
		return 0
	}
	marks, err := s.Keys.DecodeMarks(pid, []layout.Attributes{item})
	if err != nil || marks.Low.Purged == 0 || !marks.Low.Unused() {
		return 0
	}
	return marks.Low.Purged + 1
}

// usedAgain reports whether an event or a seal is stored at the first number after a purge.
// lifeStart is 0 for a low mark that lists its id itself. Then usedAgain reports true.
func (s *Store) usedAgain(there items, lifeStart int64, pid string) bool {
	first := s.Keys.Event(pid, lifeStart)
	_, expires := there[first][layout.AttrExpires]
	return lifeStart == 0 || there.exists(first, pid) && !expires
}

// hasEvent reports whether the first partition of an id has an event that names the id. It is
// needed only if number 1 is sealed, the low mark is missing, and the id looks like a key.
func (s *Store) hasEvent(ctx context.Context, m *dynamo.Meter, e idItem) (bool, error) {
	q := &dynamodb.QueryInput{
		TableName:                 &s.Table,
		KeyConditionExpression:    aws.String(layout.AttrPar + " = :p"),
		ExpressionAttributeValues: dynamo.Attributes{":p": &types.AttributeValueMemberS{Value: e.key.Par}},
		ConsistentRead:            aws.Bool(true),
	}
	for {
		page, err := s.Client.Query(ctx, m, q)
		if err != nil {
			return false, err
		}
		for _, item := range page.Items {
			if isEvent(item) && layout.BelongsTo(item, e.pid) {
				return true, nil
			}
		}
		if page.Next == nil {
			return false, nil
		}
		q.ExclusiveStartKey = page.Next
	}
}

// items are the items that were read by key.
type items map[layout.Key]layout.Attributes

// readItems adds the items that exist at keys.
func (s *Store) readItems(ctx context.Context, m *dynamo.Meter, there items, keys []layout.Key) error {
	asked := map[layout.Key]bool{}
	var wanted []dynamo.Attributes
	for _, key := range keys {
		if !asked[key] && there[key] == nil && key.Fits() {
			asked[key] = true
			wanted = append(wanted, key.Attributes())
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	found, err := s.Client.BatchGet(ctx, m, s.Table, wanted)
	if err != nil {
		return err
	}
	for _, item := range found {
		key, err := layout.DecodeKey(item)
		if err != nil {
			return fmt.Errorf("table %q: %w", s.Table, err)
		}
		there[key] = item
	}
	return nil
}

// lists reports whether the item at number 1 lists its id, regardless of low marks. An item that is
// not ambiguous need not have been read.
func (t items) lists(e idItem) bool {
	if e.ambiguous {
		return isEvent(t[e.key]) && layout.BelongsTo(t[e.key], e.pid)
	}
	return !e.tombstone
}

// exists reports whether an item exists at a number of an id that is not an event of another id.
func (t items) exists(first layout.Key, pid string) bool {
	return t[first] != nil && !t.foreign(first, pid)
}

// foreign reports whether the event at a key belongs to another id.
func (t items) foreign(key layout.Key, pid string) bool {
	return isEvent(t[key]) && !layout.BelongsTo(t[key], pid)
}

// lowMark reports whether an item is a low mark of an id and does not expire. The key of an id that
// looks like a key can also be the key of another journal's mark. Then its index key decides.
// Without an index key, an item that could be a high mark by its value counts as a high mark.
func (s *Store) lowMark(item layout.Attributes, pid string) bool {
	if _, expires := item[layout.AttrExpires]; expires || !layout.IsLowMark(item) {
		return false
	}
	if key, ok := item[layout.AttrIDsKey].(*types.AttributeValueMemberS); ok {
		return key.Value == s.Keys.IDsKeyPrefix()+pid
	}
	if item[layout.AttrRemoved] != nil || !strings.Contains("-"+pid, "-SH-") && !strings.Contains(s.Keys.Journal+"-", "-SH-") {
		return true
	}
	_, seq, err := layout.DecodeMark(item)
	return err == nil && seq%layout.PartitionSize != 0
}

// anyLowMark reports whether a low mark that lists an id exists at one of some keys.
func (s *Store) anyLowMark(there items, keys []layout.Key, pid string) bool {
	return slices.ContainsFunc(keys, func(key layout.Key) bool {
		return s.lowMark(there[key], pid) && s.usedAgain(there, s.lifeStart(there[key], pid), pid)
	})
}

// seal reports whether there is a seal at a key.
func (t items) seal(key layout.Key) bool {
	_, expires := t[key][layout.AttrExpires]
	return t[key] != nil && !expires && !isEvent(t[key])
}

func isEvent(item layout.Attributes) bool {
	return item[layout.AttrEvent] != nil || item[layout.AttrPay] != nil
}
