package verify_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/protocol"
	"github.com/dynajournal/dynajournal/internal/provision"
	"github.com/dynajournal/dynajournal/internal/verify"
)

const (
	pid   = "a"
	table = "events"
	now   = 1_000_000 // the time of the checks, in seconds
)

// journal is a table that tests fill by hand, and its checker.
type journal struct {
	*testing.T

	keys    layout.Keys
	table   *dynamodb.Client
	store   *protocol.Store
	checker *verify.Checker
	// saved are the snapshots by their sequence numbers, each with its damage or nil.
	saved map[int64]error

	mu    sync.Mutex
	units float64 // read so far
}

func newJournal(t *testing.T, shared bool) *journal {
	t.Helper()
	engine, err := embedded.OpenMemory(embedded.WithSweepInterval(0))
	if err != nil {
		t.Fatal(err)
	}
	j := &journal{T: t, keys: layout.Keys{Journal: "journal", Shards: 2}, table: dynamodb.NewFromConfig(engine.AWSConfig()), saved: map[int64]error{}}
	client, err := dynamo.New(dynamo.Options{
		AWS: engine.AWSConfig(), MaxInFlight: 10, BackoffBase: time.Millisecond, BackoffCap: time.Millisecond,
		AttemptTimeout: time.Minute, OperationTimeout: time.Minute, MaxBatchGet: 100, MaxBatchWrite: 25, Observe: j.observe,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	made := provision.Journal{Name: j.keys.Journal, Table: table, SnapshotTable: "snapshots", IDsIndex: layout.SharedIDsIndex}
	if err := made.Create(t.Context(), client, provision.Options{SharedWithJVM: shared}); err != nil {
		t.Fatal(err)
	}
	j.store = &protocol.Store{Client: client, Table: table, Keys: j.keys, Parallelism: 1}
	if !shared {
		j.store.IDsShards = 8
	}
	j.checker = &verify.Checker{
		Store:           j.store,
		TTL:             true,
		Now:             func() int64 { return now },
		TombstoneExpiry: func() (int64, error) { return now + 86_400, nil },
		Decode: func(e *layout.Event) error {
			if string(e.Bytes) == "broken" {
				return errBroken
			}
			return nil
		},
		Snapshots: func(_ context.Context, _ *dynamo.Meter, _ string, each func(int64, error) error) error {
			for _, seq := range slices.Backward(slices.Sorted(maps.Keys(j.saved))) {
				if err := each(seq, j.saved[seq]); err != nil {
					return err
				}
			}
			return nil
		},
	}
	return j
}

var errBroken = errors.New("the payload is broken")

func (j *journal) observe(_ context.Context, attempt dynamo.Attempt) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.units += attempt.Cost.ReadUnits
}

// put stores items as they are.
func (j *journal) put(items ...layout.Attributes) {
	j.Helper()
	for _, item := range items {
		if _, err := j.table.PutItem(j.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: item}); err != nil {
			j.Fatal(err)
		}
	}
}

// remove removes the items of numbers.
func (j *journal) remove(numbers ...int64) {
	j.Helper()
	for _, seq := range numbers {
		in := &dynamodb.DeleteItemInput{TableName: aws.String(table), Key: j.keys.Event(pid, seq).Attributes()}
		if _, err := j.table.DeleteItem(j.Context(), in); err != nil {
			j.Fatal(err)
		}
	}
}

// stored returns the item of a number, or nil.
func (j *journal) stored(seq int64) layout.Attributes {
	j.Helper()
	in := &dynamodb.GetItemInput{TableName: aws.String(table), Key: j.keys.Event(pid, seq).Attributes(), ConsistentRead: aws.Bool(true)}
	out, err := j.table.GetItem(j.Context(), in)
	if err != nil {
		j.Fatal(err)
	}
	return out.Item
}

// event returns an event of a writer. Number 1 is in the ids index of a native journal.
func (j *journal) event(seq int64, writer string, batch layout.Batch) layout.Attributes {
	item := j.keys.EncodeEvent(&layout.Event{
		PersistenceID: pid, SequenceNr: seq, Bytes: []byte("x"), SerializerID: 4, WriterUUID: writer, Batch: batch,
	})
	if seq == 1 && !j.store.Shared() {
		maps.Copy(item, j.listed())
	}
	return item
}

// listed are the attributes that enter the persistence id into the ids index.
func (j *journal) listed() layout.Attributes {
	if j.store.Shared() {
		return nil
	}
	return j.keys.IDsAttributes(pid, j.store.IDsShards)
}

// singles stores events of one writer, with the high marks that belong to them.
func (j *journal) singles(first, last int64) {
	j.Helper()
	for seq := first; seq <= last; seq++ {
		j.put(j.event(seq, "w", layout.Batch{}))
		if seq%layout.PartitionSize == 0 {
			j.put(j.keys.EncodeHighMark(pid, seq))
		}
	}
}

// batch stores members of an atomic write of first to last, but for those left out.
func (j *journal) batch(first, last int64, but ...int64) {
	j.Helper()
	for seq := first; seq <= last; seq++ {
		if !slices.Contains(but, seq) {
			j.put(j.event(seq, "w", layout.Batch{Start: first, Last: last, WriterUUID: "w"}))
		}
	}
}

// lowMark stores a low mark whose removal is complete, listed in the ids index.
func (j *journal) lowMark(seq int64) {
	j.Helper()
	j.put(j.keys.EncodeLowMark(pid, layout.LowMark{Seq: seq, Removed: seq}, j.listed()))
}

// purged stores the items that a purge up to a number leaves.
func (j *journal) purged(last int64) {
	j.Helper()
	j.tombstones(1, last)
	j.put(j.keys.EncodeLowMark(pid, layout.LowMark{Seq: last + 1, Removed: last + 1, Purged: last}, nil))
}

// firstOfLife stores the first event after a purge, listed in the ids index.
func (j *journal) firstOfLife(seq int64) {
	j.Helper()
	item := j.event(seq, "w", layout.Batch{})
	maps.Copy(item, j.listed())
	j.put(item)
}

// deletedWithSnapshot stores six events. Three of them were deleted because a snapshot has their
// state.
func (j *journal) deletedWithSnapshot() {
	j.Helper()
	j.singles(4, 6)
	j.tombstones(1, 3)
	j.put(j.keys.EncodeLowMark(pid, layout.LowMark{Seq: 4, Removed: 4, Behind: 3}, j.listed()))
}

// tombstones stores tombstones that expire long after now.
func (j *journal) tombstones(first, last int64) {
	j.Helper()
	for seq := first; seq <= last; seq++ {
		j.put(j.keys.EncodeTombstone(pid, seq, now+86_400))
	}
}

// unreadable returns an item that does not fit the layout.
func (j *journal) unreadable(key layout.Key) layout.Attributes {
	item := key.Attributes()
	item["event"], item["seq"] = &types.AttributeValueMemberS{Value: "text"}, &types.AttributeValueMemberS{Value: "three"}
	return item
}

// check returns the findings of the persistence id.
func (j *journal) check() []verify.Finding {
	j.Helper()
	var found []verify.Finding
	if err := j.checker.Check(j.Context(), pid, func(f verify.Finding) error {
		if f.Detail == "" || f.PersistenceID != pid {
			j.Errorf("a finding without detail or of another id: %+v", f)
		}
		found = append(found, f)
		return nil
	}); err != nil {
		j.Fatalf("check: %v", err)
	}
	return found
}

// short are the findings in words: the kind, the number, "unasked" or the option of a repair.
func short(found []verify.Finding) []string {
	var all []string
	for i := range found {
		f := &found[i]
		line := string(f.Kind) + " " + strconv.FormatInt(f.SequenceNr, 10)
		if f.Option != "" {
			line += " " + string(f.Option)
		} else if f.Repairable() {
			line += " unasked"
		}
		all = append(all, line)
	}
	return all
}

// repair repairs a finding, and returns the numbers whose items it has archived.
func (j *journal) repair(f *verify.Finding) (changed bool, archived []int64, err error) {
	j.Helper()
	changed, err = f.Repair(j.Context(), &verify.Mender{Meter: &dynamo.Meter{}, Archive: func(r verify.Removed) error {
		if r.PersistenceID != pid || r.Kind != f.Kind || r.Item == nil {
			j.Errorf("archived: %+v", r)
		}
		archived = append(archived, r.SequenceNr)
		return nil
	}})
	return changed, archived, err
}
