package explore_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/explore"
)

// world has an engine, a network in front of it, and journals, all in the test's bubble.
type world struct {
	*testing.T
	engine *embedded.Engine
	net    *explore.Network
	config dynajournal.Config
}

// fenceWindow is the fence window of every journal here. It is short, because the engine does its
// own work while the bubble's time passes.
const fenceWindow = time.Hour

// inWorld runs a test in a bubble with an empty native journal, without group commit: each member
// of an atomic write has its own request.
func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	inWorldOf(t, dynajournal.TableOptions{}, test)
}

// inWorldOf is inWorld with other tables.
func inWorldOf(t *testing.T, tables dynajournal.TableOptions, test func(w *world)) {
	t.Helper()
	inBubble(t, tables, func(w *world) {
		w.config.GroupCommit = dynajournal.GroupCommitOff
		test(w)
	})
}

// inGroupWorld is inWorld with group commit.
func inGroupWorld(t *testing.T, test func(w *world), opts ...embedded.Option) {
	t.Helper()
	inBubble(t, dynajournal.TableOptions{}, test, opts...)
}

// inBubble runs a test in a bubble with an empty journal.
func inBubble(t *testing.T, tables dynajournal.TableOptions, test func(w *world), opts ...embedded.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		engine, err := embedded.OpenMemory(append(opts, embedded.WithSweepInterval(0))...)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = engine.Close() }()
		w := newWorld(t, engine)
		if err := dynajournal.CreateTables(t.Context(), w.config, tables); err != nil {
			t.Fatal(err)
		}
		test(w)
	})
}

// newWorld returns a world with an engine.
func newWorld(t *testing.T, engine *embedded.Engine) *world {
	t.Helper()
	w := &world{T: t, engine: engine, net: explore.NewNetwork(engine.Transport())}
	w.config = dynajournal.Config{AWS: engine.AWSConfig(), FenceWindow: fenceWindow, BackoffBase: 1, BackoffCap: 1}
	return w
}

// journal opens the journal in a process of its own.
func (w *world) journal(process string) *dynajournal.Journal {
	w.Helper()
	config := w.config
	config.AWS.HTTPClient = w.net.Client(process)
	j, err := dynajournal.Open(w.Context(), config)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		w.net.Free(process)
		if err := j.Close(); err != nil {
			w.Error(err)
		}
	})
	return j
}

const pid = "a"

// recovery is a writer with the events of its recovery, as number and text.
type recovery struct {
	*dynajournal.Writer
	seen []string
}

func text(e dynajournal.Event) string { return string(e.Bytes) }

func recoverIt(ctx context.Context, j *dynajournal.Journal, opts dynajournal.RecoverOptions) (recovery, error) {
	var r recovery
	w, err := j.Recover(ctx, pid, opts, func(e dynajournal.Event) error {
		r.seen = append(r.seen, text(e))
		return nil
	})
	r.Writer = w
	return r, err
}

// recovered recovers everything.
func (w *world) recovered(j *dynajournal.Journal) recovery {
	w.Helper()
	for {
		r, err := recoverIt(w.Context(), j, dynajournal.RecoverOptions{})
		if errors.Is(err, dynajournal.ErrDeletedMeanwhile) {
			continue // like a host
		}
		if err != nil {
			w.Fatal(err)
		}
		return r
	}
}

// append writes events that must be acknowledged.
func (w *world) append(r recovery, events ...string) {
	w.Helper()
	if err := appendTo(w.Context(), r, events...); err != nil {
		w.Fatalf("append %v: %v", events, err)
	}
}

// fill writes single events 1, 2, … up to n, which must be acknowledged.
func (w *world) fill(r recovery, n int) {
	w.Helper()
	events := make([]any, n)
	for i := range events {
		events[i] = "filling"
	}
	if _, err := r.AppendEach(w.Context(), events...); err != nil {
		w.Fatal(err)
	}
}

func appendTo(ctx context.Context, r recovery, events ...string) error {
	values := make([]any, len(events))
	for i, e := range events {
		values[i] = e
	}
	_, err := r.Append(ctx, values...)
	return err
}

// visible returns the events that a reader sees from a number on.
func (w *world) visible(j *dynajournal.Journal, from int64) []string {
	w.Helper()
	var seen []string
	for e, err := range j.Events(w.Context(), pid, dynajournal.Range{From: from}) {
		if err != nil {
			w.Fatal(err)
		}
		seen = append(seen, text(e))
	}
	return seen
}

func (w *world) wantVisible(j *dynajournal.Journal, from int64, want ...string) {
	w.Helper()
	if got := w.visible(j, from); !slices.Equal(got, want) {
		w.Errorf("from %d there are %q, want %q", from, got, want)
	}
}

func (w *world) wantConflict(err error) {
	w.Helper()
	if !errors.Is(err, dynajournal.ErrWriterConflict) {
		w.Errorf("got %v, want %v", err, dynajournal.ErrWriterConflict)
	}
}

// wantListed checks whether the id is listed, by the index and by a scan.
func (w *world) wantListed(j *dynajournal.Journal, want bool) {
	w.Helper()
	for _, scan := range []bool{false, true} {
		listed := false
		for id, err := range j.CurrentPersistenceIDs(w.Context(), dynajournal.IDsOptions{Scan: scan}) {
			if err != nil {
				w.Fatal(err)
			}
			listed = listed || id == pid
		}
		if listed != want {
			w.Errorf("listed = %v (scan: %v), want %v", listed, scan, want)
		}
	}
}

// endPauses waits, in the time of the bubble, until pauses between attempts are over.
func endPauses() { time.Sleep(time.Microsecond) }

// pass advances the time, and removes expired items.
func (w *world) pass(d time.Duration) {
	w.Helper()
	time.Sleep(d)
	if _, err := w.engine.SweepExpired(); err != nil {
		w.Fatal(err)
	}
}

// await waits until every goroutine is blocked, and returns the request of a process whose label
// begins with a text.
func (w *world) await(process, label string) *explore.Request {
	w.Helper()
	synctest.Wait()
	for _, r := range w.net.Pending() {
		if r.Process == process && strings.HasPrefix(r.Label, label) {
			return r
		}
	}
	w.Fatalf("%s has not sent %q; in flight are %v", process, label, w.net.Pending())
	return nil
}

// deliverUntil delivers the requests of a process, until it sends a request whose label begins with
// a text. That request stays in flight.
func (w *world) deliverUntil(process, label string) *explore.Request {
	w.Helper()
	for {
		synctest.Wait()
		var others []*explore.Request
		for _, r := range w.net.Pending() {
			if r.Process != process {
				continue
			}
			if strings.HasPrefix(r.Label, label) {
				return r
			}
			others = append(others, r)
		}
		if len(others) == 0 {
			w.Fatalf("%s has not sent %q", process, label)
		}
		w.net.Deliver(others[0])
	}
}

// do runs a call in the background. The returned function waits for its result.
func do[T any](call func() (T, error)) func() (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		v, err := call()
		done <- outcome{v, err}
	}()
	return func() (T, error) {
		o := <-done
		return o.value, o.err
	}
}

// appending appends in the background.
func (w *world) appending(r recovery, events ...string) func() error {
	wait := do(func() (struct{}, error) { return struct{}{}, appendTo(w.Context(), r, events...) })
	return func() error {
		_, err := wait()
		return err
	}
}

// recovering recovers in the background.
func (w *world) recovering(j *dynajournal.Journal, opts dynajournal.RecoverOptions) func() (recovery, error) {
	return do(func() (recovery, error) { return recoverIt(w.Context(), j, opts) })
}

// key returns the label of the key of a number.
func key(seq string) string { return "journal-P-" + pid + "-" + seq }

// remove deletes an item, bypassing the journal.
func (w *world) remove(par string, num int) {
	w.Helper()
	_, err := dynamodb.NewFromConfig(w.engine.AWSConfig()).DeleteItem(w.Context(), &dynamodb.DeleteItemInput{
		TableName: aws.String(dynajournal.DefaultJournalTable),
		Key: map[string]types.AttributeValue{
			"par": &types.AttributeValueMemberS{Value: par},
			"num": &types.AttributeValueMemberN{Value: strconv.Itoa(num)},
		},
	})
	if err != nil {
		w.Fatal(err)
	}
}
