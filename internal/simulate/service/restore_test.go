package service_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/enginetest"
	"github.com/dynajournal/dynajournal/projection/tags"
)

// restored has the sets of tables that are replaced with older copies. The last set has all tables.
// The read model is restored with the offsets.
var restored = [][]string{
	{dynajournal.DefaultJournalTable},
	{dynajournal.DefaultSnapshotTable},
	{dynajournal.DefaultJournalTable, dynajournal.DefaultSnapshotTable},
	{projectionsTable, effectsTable},
	{tagsTable},
	{dynajournal.DefaultJournalTable, projectionsTable, tagsTable, effectsTable},
	{dynajournal.DefaultSnapshotTable, projectionsTable, tagsTable, effectsTable},
	{dynajournal.DefaultJournalTable, dynajournal.DefaultSnapshotTable, projectionsTable, tagsTable, effectsTable},
}

// copied is a backup by an operator: the items of the tables, and the world outside.
type copied struct {
	tables map[string][]item
	world  *world
}

// copyAll copies everything, while nothing happens.
func (s *service) copyAll() copied {
	c := copied{map[string][]item{}, s.world.clone()}
	for _, name := range restored[len(restored)-1] {
		c.tables[name] = s.items(name)
	}
	for _, b := range slices.Concat(s.things, s.settings) {
		b.backedUp = b.now
	}
	return c
}

// restore replaces some tables with their older copies, starts a process, and checks that each view
// fails or is right: the replaced tables show the state of their copy, and nothing else has
// changed.
func (s *service) restore(backup copied) {
	names := restored[s.random(len(restored))]
	for _, name := range names {
		s.replace(name, backup.tables[name])
	}
	if slices.Contains(names, projectionsTable) {
		s.world = backup.world
	}
	s.trace("restored %v", names)
	s.sum.count("fault tables replaced by older copies")
	s.sum.count("replaced " + strings.Join(names, ", "))
	j := s.open(s.config())
	defer func() { _ = j.Close() }()
	h := s.host(j)
	defer h.close()
	right := map[*subject][]string{}
	for _, b := range slices.Concat(s.things, s.settings) {
		seen, err := h.view(b)
		s.trace("%s: %v %v", b.pid, seen, err)
		if err != nil {
			s.sum.count("restored: an error")
			continue
		}
		s.sum.count("restored: a state")
		want := b.now
		holder := dynajournal.DefaultSnapshotTable // of durable states
		if isThing(b) {
			holder = dynajournal.DefaultJournalTable
		}
		if slices.Contains(names, holder) {
			want = b.backedUp
		}
		if !slices.Equal(seen, want) {
			s.fail("after the restore of %v %s is %v, want %v: it was %v, and %v when the tables were copied", names, b.pid, seen, want, b.now, b.backedUp)
			return
		}
		if isThing(b) {
			right[b] = want
		}
	}
	s.goOn(h, right)
	s.judgeRestored(j, names, right)
}

// replace replaces the items of a table. It replaces the table of the tags with a new table, like a
// restore: only its id shows that it is older.
func (s *service) replace(table string, items []item) {
	if table == tagsTable {
		enginetest.Restore(s, s.table, table, items)
		return
	}
	keys := map[string][]string{
		dynajournal.DefaultJournalTable: {"par", "num"}, dynajournal.DefaultSnapshotTable: {"par", "seq"},
		projectionsTable: {"par"}, effectsTable: {"id"},
	}[table]
	for _, i := range s.items(table) {
		key := item{}
		maps.Copy(key, i)
		maps.DeleteFunc(key, func(name string, _ types.AttributeValue) bool { return !slices.Contains(keys, name) })
		if _, err := s.table.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{TableName: &table, Key: key}); err != nil {
			s.Fatal(err)
		}
	}
	for _, i := range items {
		if _, err := s.table.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &table, Item: i}); err != nil {
			s.Fatal(err)
		}
	}
}

// goOn does an operation on each subject in right, so that numbers of lost events are used again.
func (s *service) goOn(h *hosted, right map[*subject][]string) {
	for b, names := range right {
		if err := h.do(context.Background(), b, "restored"); err != nil {
			s.trace("%s: %v", b.pid, err)
			delete(right, b)
			continue
		}
		right[b] = append(slices.Clip(names), "restored")
	}
}

// judgeRestored lets the projections run. In the end each persistence id must be stuck or
// unreadable, or its read model must be right. A restored index of tags must be refused: an
// operator accepts an index that was restored together with the offsets.
func (s *service) judgeRestored(j *dynajournal.Journal, names []string, right map[*subject][]string) {
	if slices.Contains(names, tagsTable) {
		if _, err := tags.Open(context.Background(), j, tagsTable); !errors.Is(err, tags.ErrRestored) {
			s.fail("after the restore of %v the index of tags is opened: %v", names, err)
		}
		if !slices.Contains(names, projectionsTable) {
			return
		}
		if err := tags.AcceptRestored(context.Background(), j, tagsTable); err != nil {
			s.fail("%v", err)
		}
	}
	group, err := s.newGroup(j, s.engine.AWSConfig())
	if err != nil {
		s.fail("after the restore of %v there is no group: %v", names, err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- group.Run(ctx) }()
	for b := range right {
		group.Trigger(b.pid)
	}
	for start, pause := time.Now(), time.Minute; ; pause = min(2*pause, 10*time.Minute) {
		time.Sleep(pause)
		why := s.misread(j, right)
		if why == "" {
			break
		}
		if time.Since(start) > patience {
			s.fail("after the restore of %v %s", names, why)
			break
		}
	}
	cancel()
	if err := <-ended; err != nil {
		s.sum.count("restored: the group has failed")
	}
	s.sum.add("restored: persistence ids stuck", len(s.stuck()))
}

// misread describes the first error in the read models, or returns an empty text. It leaves out
// persistence ids that are stuck, or whose events can't be read.
func (s *service) misread(j *dynajournal.Journal, right map[*subject][]string) string {
	stuck := s.stuck()
	tags, err := s.tagged()
	if err != nil {
		return fmt.Sprintf("the tags can't be read: %v", err)
	}
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	for b, want := range right {
		if stuck[b.pid] != "" || b.readNewOf(j) != nil {
			continue
		}
		for seq, name := range b.visible {
			if got := s.world.read[b.pid][seq]; got != name {
				return fmt.Sprintf("the read model has %q at %d of %s, want %q", got, seq, b.pid, name)
			}
			if got := tags[effectKey(b.pid, seq)]; len(tagsOf(Done{Name: name})) > 0 && got != name {
				return fmt.Sprintf("found by the tag is %q at %d of %s, want %q", got, seq, b.pid, name)
			}
		}
		for seq, name := range s.world.read[b.pid] {
			if !slices.Contains(want, name) {
				return fmt.Sprintf("the read model has %q at %d of %s, which is %v", name, seq, b.pid, want)
			}
		}
	}
	return ""
}
