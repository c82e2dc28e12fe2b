package projection_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
)

// keys returns the keys of all items of the projections table, in their order.
func (b *bundle) keys() (keys []string) {
	b.Helper()
	for _, item := range b.items("par") {
		keys = append(keys, item["par"].(*types.AttributeValueMemberS).Value)
	}
	slices.Sort(keys)
	return keys
}

// remove removes a projection with a journal of its own.
func (b *bundle) remove(name string, change ...func(*dynajournal.Config)) (int64, error) {
	b.Helper()
	return operator.New(b.Journal(change...), name).Remove(b.Context(), operator.RemoveOptions{})
}

func TestRemovedProjectionLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"sweep", "streams"} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			b := streaming(t)
			const ids = 30
			for i := range ids {
				b.write(fmt.Sprint("i", i), "x")
			}
			other := &recorder{}
			one, two := projection.AtLeastOnce("all", &recorder{}), projection.AtLeastOnce("all2", other)
			run := func(projections ...projection.Projection) {
				stop := start(t, group(t, b.journal, sources(b)[source], projections...))
				for i := range ids {
					b.await("group/all2", fmt.Sprint("i", i), 1)
					if len(projections) > 1 {
						b.await("group/all", fmt.Sprint("i", i), 1)
					}
				}
				if source == "streams" {
					b.awaitQuiet()
				}
				if len(projections) > 1 {
					_, err := b.remove("group/all")
					wantError(t, "Remove while it runs", err, projection.ErrInUse)
				}
				stop()
			}
			run(one, two)
			run(two)
			b.put(projectionsTable, map[string]types.AttributeValue{
				"par":        &types.AttributeValueMemberS{Value: "journal\x00group\x00requests"},
				"send_again": &types.AttributeValueMemberSS{Value: []string{"id\x00group/all\x00letter"}},
			})
			b.put(projectionsTable, map[string]types.AttributeValue{ // as on Lambda
				"par": &types.AttributeValueMemberS{Value: "journal\x00group\x00owed\x00all"},
			})
			before := b.keys()
			var reported int64
			opts := operator.RemoveOptions{Progress: func(items int64) { reported = items }}
			opts.ReadUnitsPerSecond = 1e6
			items, err := operator.New(b.journal, "group/all").Remove(t.Context(), opts)
			if gone := len(before) - len(b.keys()); err != nil || items < ids+1 || reported != items || int64(gone) != items+1 {
				t.Fatalf("%d items, Progress reported %d, %d are gone: %v", items, reported, gone, err)
			}
			for _, key := range b.keys() {
				if strings.HasSuffix(key, "/all") || strings.Contains(key, "/all\x00") || strings.HasSuffix(key, "\x00all") {
					t.Errorf("%q is left", key)
				}
			}
			run(two) // continues where it was
			if calls := other.of("i0"); len(calls) != 1 {
				t.Errorf("the other: %q", calls)
			}
			if _, err := b.remove("group/all2"); err != nil {
				t.Fatal(err)
			}
			want(t, "what is left", b.keys(), "journal\x00", "journal\x00group\x00requests")
			if left := append(b.items("known_projections"), b.items("send_again")...); len(left) != 0 {
				t.Errorf("%v", left)
			}
			_, err = b.remove("group/all")
			wantError(t, "Remove once more", err, projection.ErrNoProjection)
		})
	}
}

// A removal is killed before each of its requests in turn. The projection does not run before the
// removal is done, and then none of its items remains.
func TestInterruptedRemovalIsFinished(t *testing.T) {
	t.Parallel()
	for operation, after := range map[string]int{"Scan": 0, "BatchWriteItem": 1, "GetItem": 1, "UpdateItem": 1, "DeleteItem": 0} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			b := streaming(t)
			for _, pid := range []string{"a", "b"} {
				b.write(pid, "x")
			}
			g := group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", &recorder{}))
			stop := start(t, g)
			b.await("group/all", "a", 1)
			b.await("group/all", "b", 1)
			b.awaitQuiet()
			stop()
			gate := b.gate("")
			killed := b.Journal(gate.install, func(c *dynajournal.Config) { c.Retries = 1 })
			gate.killAfter(operation, after)
			if _, err := operator.New(killed, "group/all").Remove(t.Context(), operator.RemoveOptions{}); err == nil {
				t.Fatal("it was not killed")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			wantError(t, "Run", g.Run(ctx), projection.ErrResetting)
			if _, err := b.remove("group/all"); err != nil {
				t.Fatal(err)
			}
			want(t, "what is left", b.keys(), "journal\x00")
		})
	}
}

func TestRemove_ProcessStartsMeanwhile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x")
	g := group(t, b.journal, fast(), projection.AtLeastOnce("all", &recorder{}))
	stop := start(t, g)
	b.await("group/all", "a", 1)
	stop()
	removing := func(gate *gate) <-chan error {
		over := make(chan error, 1)
		j := b.Journal(gate.install)
		go func() {
			_, err := operator.New(j, "group/all").Remove(context.Background(), operator.RemoveOptions{})
			over <- err
		}()
		return over
	}

	// The process has registered, and has not checked for a reset yet.
	scan, naming := b.gate("begins_with"), b.gate("ADD known_projections")
	over := removing(scan)
	comes(b, "the request", scan.arrived)
	started := make(chan error, 1)
	late := group(t, b.Journal(naming.install), fast(), projection.AtLeastOnce("all", &recorder{}))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	go func() { started <- late.Run(ctx) }()
	comes(b, "the request", naming.arrived)
	scan.release()
	err := comes(t, "the end of the removal", over)
	naming.release()
	wantError(t, "Run", comes(t, "the end of the process", started), projection.ErrResetting)
	if wantError(t, "Remove", err, projection.ErrInUse); t.Failed() {
		return
	}

	// The process starts and stops after the last check of the removal.
	last := b.gate("seen_at = :seen")
	over = removing(last)
	comes(b, "the request", last.arrived)
	wantError(t, "Run", g.Run(ctx), projection.ErrResetting)
	last.release()
	if err := comes(t, "the end of the removal", over); err != nil {
		t.Error(err)
	}
	want(t, "what is left", b.keys(), "journal\x00")
	if left := b.items("known_projections"); len(left) != 0 {
		t.Errorf("%v", left)
	}
	start(t, g) // as one that has never run
	b.await("group/all", "a", 1)
}

// docs/projections-operate.md states these costs of a removal.
func TestCostsOfARemoval(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const ids = 30
	for i := range ids {
		b.write(fmt.Sprint("i", i), "x")
	}
	stop := start(t, group(t, b.journal, fast(), projection.AtLeastOnce("all", &recorder{})))
	for i := range ids {
		b.await("group/all", fmt.Sprint("i", i), 1)
	}
	stop()
	var spent costs
	j := b.Journal(spent.install)
	spent.take()
	if _, err := operator.New(j, "group/all").Remove(t.Context(), operator.RemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, want := spent.take(), (dynajournal.Cost{Requests: 12, ReadUnits: 7, WriteUnits: ids + 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
