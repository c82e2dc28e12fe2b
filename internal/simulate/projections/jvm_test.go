package projections_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/uuid"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/jvm"
)

// ofJVM is the suffix of the events of the JVM.
const ofJVM = " jvm"

const (
	// blockOf is the number of sequence numbers in a partition.
	blockOf = 100
	// underWay is the number of atomic writes of a persistence id that a JVM has in flight.
	underWay = 4
	// stringSerializer is the identifier of the JVM's serializer of strings.
	stringSerializer = 20
	// writeTimeout bounds a request of the JVM. lateWrite bounds how long after that the request
	// may still be performed.
	writeTimeout = time.Second
	lateWrite    = 3 * time.Second
)

// actor is a persistent actor of a JVM. A persistence id has one at a time.
type actor struct {
	*simulation

	id     *stored
	random *rand.Rand
	plugin *jvm.Plugin
	writer string
	// highest is the highest number that was given to an event.
	highest int64
}

// writeAsJVM does some operations on a persistence id like a JVM: several atomic writes are in
// flight at the same time, and arrive in any order, event by event. Some numbers are never used.
// Events that are deleted and purged vanish step by step.
func (s *simulation) writeAsJVM(id *stored, random *rand.Rand, operations int) {
	config := s.engine.AWSConfig()
	config.RetryMaxAttempts = 1
	client := dynamodb.NewFromConfig(config)
	plugin := jvm.New(client, dynajournal.DefaultJournalTable, dynajournal.DefaultSnapshotTable,
		dynajournal.DefaultJournalName, dynajournal.DefaultSequenceShards)
	a := &actor{simulation: s, id: id, random: random, plugin: plugin}
	a.start()
	for range operations {
		time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
		a.operate()
	}
	a.persist([]int{1}, false) // at least one event, so that a purge is reported
	s.trigger(id)
}

// operate does a random operation.
func (a *actor) operate() {
	switch dice := a.random.IntN(a.sixes); {
	case dice < 4 && !a.id.fresh && a.id.last > 0:
		a.id.deletedTo = max(a.id.deletedTo, a.id.last-int64(a.random.IntN(6)))
		a.until(func(ctx context.Context) error { return a.plugin.Delete(ctx, a.id.pid, a.id.deletedTo) })
	case dice == 4:
		a.id.purgeTried[a.id.life] = true
		time.Sleep(unused)
		a.until(func(ctx context.Context) error { return a.plugin.Purge(ctx, a.id.pid) })
		time.Sleep(unused)
		a.id.life++
		a.id.fresh, a.id.last, a.id.deletedTo = true, 0, 0
		a.start()
	case dice == 5:
		// Rejected: nothing is written, not even the mark of a partition, so the number must not be
		// the first of a partition. Without number 1 no listing has the persistence id.
		next := a.highest + 1 + int64(a.random.IntN(3))
		if a.highest > 0 && next/blockOf == a.highest/blockOf {
			a.highest = next
		}
	default:
		sizes := make([]int, 1+a.random.IntN(underWay))
		for i := range sizes {
			sizes[i] = 1 + a.random.IntN(max(1, a.mostEvents/underWay))
		}
		if crash := a.random.IntN(5) == 0; crash {
			a.persist(sizes, true)
			a.start()
		} else {
			a.persist(sizes, false)
		}
		a.trigger(a.id)
	}
}

// persist puts atomic writes at the same time. With a crash some are aborted in the middle.
func (a *actor) persist(sizes []int, crash bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var under sync.WaitGroup
	for _, size := range sizes {
		w := jvm.Write{PersistenceID: a.id.pid, First: a.highest + 1, Writer: a.writer}
		for range size {
			text := fmt.Sprintf("%d %d %d%s", a.id.number, a.id.life, a.id.appended, ofJVM)
			a.id.appended++
			w.Events = append(w.Events, jvm.NewEvent{Payload: jvm.Payload{Bytes: []byte(text), Serializer: stringSerializer}})
		}
		a.highest += int64(size)
		// The mark of a partition comes with its first event. A JVM that has stored only the event
		// does not see it, and uses its number again.
		givenUp := crash && a.random.IntN(2) == 0 && w.First > 1 && (w.First-1)/blockOf == a.highest/blockOf
		delay := time.Duration(a.random.IntN(2000)) * time.Millisecond
		under.Go(func() {
			time.Sleep(delay)
			if givenUp {
				_ = a.plugin.Write(ctx, w)
				return
			}
			a.until(func(ctx context.Context) error { return a.plugin.Write(ctx, w) })
		})
	}
	if crash {
		time.Sleep(time.Duration(a.random.IntN(2000)) * time.Millisecond)
		cancel()
	}
	under.Wait()
	if !crash {
		a.find()
	}
}

// start starts the actor, after all writes of an earlier actor are performed or lost.
func (a *actor) start() {
	time.Sleep(unused)
	a.writer = uuid.NewString()
	a.until(func(ctx context.Context) (err error) {
		a.highest, err = a.plugin.Highest(ctx, a.id.pid)
		return err
	})
	a.find()
}

// find records the stored events.
func (a *actor) find() {
	for {
		var all []dynajournal.Record
		var failed error
		for record, err := range a.writers.Records(context.Background(), a.id.pid, dynajournal.RecordsOptions{}) {
			if failed = err; err == nil && record.Kind == dynajournal.RecordEvent {
				all = append(all, record)
			}
		}
		if failed != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		for i := range all {
			a.know(a.id, all[i].SequenceNumber, string(all[i].Bytes), all[i].WriterUUID)
			a.id.last = max(a.id.last, all[i].SequenceNumber)
		}
		return
	}
}

// until calls do until it succeeds and no earlier attempt can still be performed: marks are put
// without a condition, so a late attempt would restore an earlier mark.
func (a *actor) until(do func(context.Context) error) {
	for attempt := 1; ; attempt++ {
		ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
		err := do(ctx)
		cancel()
		if err != nil {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		if attempt > 1 {
			time.Sleep(lateWrite)
		}
		return
	}
}
