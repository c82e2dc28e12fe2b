package systemtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/serialization"
)

// operations is a hook that records operations, seals, and the cost of all requests.
type operations struct {
	mu    sync.Mutex
	all   []dynajournal.Operation
	seals []dynajournal.Seal
	cost  dynajournal.Cost
}

func (o *operations) hook() dynajournal.Hook {
	return dynajournal.Hook{
		OnOperation: func(ctx context.Context, of dynajournal.Operation) {
			o.mu.Lock()
			defer o.mu.Unlock()
			if ctx.Value(parentKey{}) == nil {
				panic("an operation is reported without the context of its caller")
			}
			o.all = append(o.all, of)
		},
		OnSeal: func(_ context.Context, seal dynajournal.Seal) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.seals = append(o.seals, seal)
		},
		OnRequest: func(_ context.Context, r dynajournal.Request) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.cost = o.cost.Add(dynajournal.Cost{Requests: 1}).Add(dynajournal.Cost{ReadUnits: r.Cost.ReadUnits, WriteUnits: r.Cost.WriteUnits})
		},
	}
}

// start discards the records.
func (o *operations) start() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all, o.seals, o.cost = nil, nil, dynajournal.Cost{}
}

func TestHooks_Operations(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			seen := &operations{}
			engine := openEngine(t, embedded.WithSweepInterval(0))
			config := dynajournal.Config{AWS: engine.AWSConfig(), Hooks: []dynajournal.Hook{seen.hook(), {}}}
			createTables(t, config, options)
			j := openJournal(t, config)
			ctx := context.WithValue(t.Context(), parentKey{}, true)
			tooLarge := serialization.Payload{Manifest: "x", Bytes: make([]byte, 500<<10)}
			seen.start()

			w, err := j.Recover(ctx, "a", dynajournal.RecoverOptions{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			check := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			_, err = w.Append(ctx, "1", "2", "3")
			check(err)
			_, err = w.AppendEach(ctx, "4", tooLarge)
			wantError(t, "AppendEach", err, dynajournal.ErrRejected)
			_, err = w.AppendAt(ctx, 99, "5")
			wantError(t, "AppendAt", err, dynajournal.ErrVersion)
			_, err = j.SaveSnapshot(ctx, dynajournal.SnapshotMetadata{PersistenceID: "a", SequenceNumber: 4}, "state")
			check(err)
			_, _, err = j.LoadSnapshot(ctx, "a", dynajournal.SnapshotCriteria{})
			check(err)
			_, _, err = j.LoadSnapshot(ctx, "none", dynajournal.SnapshotCriteria{})
			check(err)
			_, err = j.Recover(ctx, "a", dynajournal.RecoverOptions{}, func(dynajournal.Event) error { return nil })
			check(err)
			w, err = j.Recover(ctx, "a", dynajournal.RecoverOptions{}, nil)
			check(err)
			_, err = w.DeleteTo(ctx, 2)
			check(err)
			_, err = j.DeleteSnapshots(ctx, "a", dynajournal.SnapshotCriteria{})
			check(err)
			_, err = w.Purge(ctx, dynajournal.PurgeOptions{})
			check(err)

			seen.mu.Lock()
			defer seen.mu.Unlock()
			var got []string
			var cost dynajournal.Cost
			for _, o := range seen.all {
				got = append(got, fmt.Sprintf("%s %s %d %s", o.Kind, o.PersistenceID, o.Count, dynajournal.Reason(o.Err)))
				if cost = cost.Add(o.Cost); o.Duration <= 0 {
					t.Errorf("%+v has no duration", o)
				}
			}
			want := []string{
				"recover a 0 ", "append a 3 ", "append a 1 ", "append a 1 rejected", "append a 1 version",
				"save_snapshot a 1 ", "load_snapshot a 1 ", "load_snapshot none 0 ", "recover a 4 ", "recover a 0 ",
				"delete a 2 ", "delete_snapshots a 1 ", "purge a 2 ",
			}
			if !slices.Equal(got, want) {
				t.Errorf("the operations are\n%q, want\n%q", got, want)
			}
			if cost != seen.cost {
				t.Errorf("the operations cost %+v, all requests %+v", cost, seen.cost)
			}
		})
	}
}

// A recovery seals a number below the highest one at which a JVM may still have an event in flight.
func TestHooks_Seals(t *testing.T) {
	t.Parallel()
	seen := &operations{}
	config := dynajournal.Config{
		AWS:   openEngine(t, embedded.WithSweepInterval(0)).AWSConfig(),
		Hooks: []dynajournal.Hook{{OnSeal: seen.hook().OnSeal}},
	}
	createTables(t, config, kinds["shared"])
	j := openJournal(t, config)
	putAll(t, dynamodb.NewFromConfig(config.AWS), spanning(3, 2).attributes("a", int64(j.SequenceShards())))
	for _, recovery := range []string{"the first recovery", "a second one, which finds the seal,"} {
		recoverWriter(t, j, "a", 0)
		if want := []dynajournal.Seal{{PersistenceID: "a", SequenceNumber: 2}}; !slices.Equal(seen.seals, want) {
			t.Errorf("after %s the seals are %v, want %v", recovery, seen.seals, want)
		}
	}
}
