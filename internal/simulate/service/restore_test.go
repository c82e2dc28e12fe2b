package service_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// restored are the sets of tables that are replaced by older copies of themselves. The last one is
// all of them. The read model is restored with the offsets.
var restored = [][]string{
	{dynajournal.DefaultJournalTable},
	{dynajournal.DefaultSnapshotTable},
	{dynajournal.DefaultJournalTable, dynajournal.DefaultSnapshotTable},
	{projectionsTable, effectsTable},
	{dynajournal.DefaultJournalTable, projectionsTable, tagsTable, effectsTable},
	{dynajournal.DefaultSnapshotTable, projectionsTable, tagsTable, effectsTable},
	{dynajournal.DefaultJournalTable, dynajournal.DefaultSnapshotTable, projectionsTable, tagsTable, effectsTable},
}

// copied is what an operator has copied: the items of the tables, and the world outside.
type copied struct {
	tables map[string][]item
	told   *told
}

// copyAll copies everything, while nothing happens.
func (s *service) copyAll() copied {
	c := copied{map[string][]item{}, s.told.clone()}
	for _, name := range restored[len(restored)-1] {
		c.tables[name] = s.items(name)
	}
	for _, b := range slices.Concat(s.things, s.settings) {
		b.backedUp = b.now
	}
	return c
}

// restore replaces some tables by their older copies, begins a process, and checks that whatever is
// asked fails or is right: a state is that of before, or that of the copy.
func (s *service) restore(backup copied) {
	names := restored[s.random(len(restored))]
	for _, name := range names {
		s.replace(name, backup.tables[name])
	}
	if slices.Contains(names, projectionsTable) {
		s.told = backup.told
	}
	s.trace("restored %v", names)
	s.sum.count("fault tables replaced by older copies")
	s.sum.count("replaced " + strings.Join(names, ", "))
	j := s.open(s.config())
	defer func() { _ = j.Close() }()
	things, settings := s.host(j)
	defer func() { _, _ = things.Close(context.Background()), settings.Close(context.Background()) }()
	right := map[string][]string{}
	for _, b := range slices.Concat(s.things, s.settings) {
		seen, err := viewOf(context.Background(), things, settings, b)
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
			right[b.pid] = want
		}
	}
	s.goOn(things, right)
	s.judgeRestored(j, names, right)
}

// replace replaces the items of a table.
func (s *service) replace(table string, items []item) {
	keys := map[string][]string{
		dynajournal.DefaultJournalTable: {"par", "num"}, dynajournal.DefaultSnapshotTable: {"par", "seq"},
		projectionsTable: {"par"}, tagsTable: {"par", "num"}, effectsTable: {"id"},
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

// goOn does an operation on each entity that has a state, so that numbers of lost events are used
// again.
func (s *service) goOn(things *entity.Entities[Thing, Done], right map[string][]string) {
	for pid, names := range right {
		if _, err := things.Update(context.Background(), idOf(pid), func(tx *entity.Tx[Thing, Done]) error {
			tx.Record(Done{Name: "restored"})
			return nil
		}); err != nil {
			s.trace("%s: %v", pid, err)
			delete(right, pid)
			continue
		}
		right[pid] = append(slices.Clip(names), "restored")
	}
}

// judgeRestored lets the projections run. In the end each persistence id is stuck, or can't be
// read, or its read model is right.
func (s *service) judgeRestored(j *dynajournal.Journal, names []string, right map[string][]string) {
	group, err := s.newGroup(j, s.engine.AWSConfig())
	if err != nil {
		s.fail("after the restore of %v there is no group: %v", names, err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- group.Run(ctx) }()
	for pid := range right {
		group.Trigger(pid)
	}
	for began, pause := time.Now(), time.Minute; ; pause = min(2*pause, 10*time.Minute) {
		time.Sleep(pause)
		why := s.misread(j, right)
		if why == "" {
			break
		}
		if time.Since(began) > patience {
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

// misread returns what is wrong in the read model of a persistence id that is not stuck and whose
// events can be read. It is empty if nothing is.
func (s *service) misread(j *dynajournal.Journal, right map[string][]string) string {
	stuck := s.stuck()
	s.told.mu.Lock()
	defer s.told.mu.Unlock()
	for _, b := range s.things {
		if _, judged := right[b.pid]; !judged || stuck[b.pid] != "" || b.lookAt(j) != nil {
			continue
		}
		for seq, name := range b.visible {
			if got := s.told.read[b.pid][seq]; got != name {
				return fmt.Sprintf("the read model has %q at %d of %s, want %q", got, seq, b.pid, name)
			}
		}
		for seq, name := range s.told.read[b.pid] {
			if !slices.Contains(right[b.pid], name) {
				return fmt.Sprintf("the read model has %q at %d of %s, which is %v", name, seq, b.pid, right[b.pid])
			}
		}
	}
	return ""
}
