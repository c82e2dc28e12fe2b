package migration_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/legacy/migration"
)

// TestMain checks that no goroutine outlives its test.
func TestMain(m *testing.M) {
	testsize.RelaxCollector()
	goleak.VerifyTestMain(m)
}

// fixture is a journal on its own engine.
type fixture struct {
	*dynajournal.Journal
	engine *embedded.Engine
	config dynajournal.Config
	client *dynamodb.Client
}

func open(tb testing.TB, shared bool) *fixture {
	tb.Helper()
	engine, err := embedded.OpenMemory()
	if err != nil {
		tb.Fatal(err)
	}
	config := dynajournal.Config{AWS: engine.AWSConfig(), Retries: -1}
	if err := dynajournal.CreateTables(tb.Context(), config,
		dynajournal.TableOptions{SharedWithJVM: shared}); err != nil {
		tb.Fatal(err)
	}
	j, err := dynajournal.Open(tb.Context(), config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := errors.Join(j.Close(), engine.Close()); err != nil {
			tb.Error(err)
		}
	})
	return &fixture{j, engine, config, dynamodb.NewFromConfig(engine.AWSConfig())}
}

func (p *fixture) writer(tb testing.TB, pid string) *dynajournal.Writer {
	tb.Helper()
	w, err := p.Recover(tb.Context(), pid, dynajournal.RecoverOptions{}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

func (p *fixture) write(tb testing.TB, pid string, n int, atomic bool) {
	tb.Helper()
	events := make([]any, n)
	for i := range events {
		events[i] = fmt.Sprintf("%s %d", pid, i)
	}
	var err error
	if w := p.writer(tb, pid); atomic {
		_, err = w.Append(tb.Context(), events...)
	} else {
		_, err = w.AppendEach(tb.Context(), events...)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

func (p *fixture) delete(tb testing.TB, pid string, to int64) {
	tb.Helper()
	if _, err := p.writer(tb, pid).DeleteTo(tb.Context(), to); err != nil {
		tb.Fatal(err)
	}
}

func (p *fixture) save(tb testing.TB, pid string, seq int64, size int) {
	tb.Helper()
	at := dynajournal.SnapshotMetadata{PersistenceID: pid, SequenceNumber: seq, Timestamp: time.UnixMilli(1000 + seq)}
	if _, err := p.SaveSnapshot(tb.Context(), at, strings.Repeat("s", size)); err != nil {
		tb.Fatal(err)
	}
}

// items returns the items of both tables, by table and key. It replaces expiry times, because they
// depend on the time.
func (p *fixture) items(tb testing.TB) map[string]map[string]any {
	tb.Helper()
	all := map[string]map[string]any{}
	for table, number := range map[string]string{dynajournal.DefaultJournalTable: "num",
		dynajournal.DefaultSnapshotTable: "seq"} {
		pages := dynamodb.NewScanPaginator(p.client, &dynamodb.ScanInput{TableName: &table})
		for pages.HasMorePages() {
			page, err := pages.NextPage(context.WithoutCancel(tb.Context()))
			if err != nil {
				tb.Fatal(err)
			}
			for _, item := range page.Items {
				shown := map[string]any{}
				for name, v := range item {
					switch v := v.(type) {
					case *types.AttributeValueMemberS:
						shown[name] = v.Value
					case *types.AttributeValueMemberN:
						shown[name] = "N" + v.Value
					case *types.AttributeValueMemberB:
						shown[name] = "B" + string(v.Value)
					default:
						shown[name] = v
					}
				}
				if _, ok := shown["expires"]; ok {
					shown["expires"] = "some time"
				}
				all[fmt.Sprint(table, " ", shown["par"], " ", shown[number])] = shown
			}
		}
	}
	return all
}

func wantItems(tb testing.TB, got, want map[string]map[string]any) {
	tb.Helper()
	if reflect.DeepEqual(got, want) {
		return
	}
	keys := maps.Clone(got)
	maps.Copy(keys, want)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !reflect.DeepEqual(got[key], want[key]) {
			tb.Errorf("item %q is %.300v, want %.300v", key, got[key], want[key])
		}
	}
}

// fill writes several ids of all kinds.
func fill(t *testing.T, p *fixture) {
	t.Helper()
	for i := range 6 {
		p.write(t, fmt.Sprintf("single-%d", i), 3+i*7, false)
	}
	p.write(t, "atomic", 97, true)
	p.write(t, "atomic", 8, true)
	p.delete(t, "atomic", 101)
	p.write(t, "deleted", 5, false)
	p.delete(t, "deleted", 5)
	p.write(t, "saved", 4, false)
	p.save(t, "saved", 2, 100)
	p.save(t, "saved", 4, 900_000)
}

func run(tb testing.TB, from, to *fixture, opts migration.Options) migration.Summary {
	tb.Helper()
	s, err := migration.Run(tb.Context(), migration.Current{Journal: from.Journal}, to.Journal, opts)
	if err != nil {
		tb.Fatalf("Run: %v", err)
	}
	return s
}

func verify(tb testing.TB, from, to *fixture) migration.Comparison {
	tb.Helper()
	c, err := migration.Verify(tb.Context(), migration.Current{Journal: from.Journal}, to.Journal, migration.Options{})
	if err != nil {
		tb.Errorf("Verify: %v", err)
	}
	return c
}

func TestRun_CopiesAllAndLeavesSource(t *testing.T) {
	t.Parallel()
	from, to := open(t, true), open(t, false)
	fill(t, from)
	before := from.items(t)
	s := run(t, from, to, migration.Options{})
	if s.PersistenceIDs != 9 || s.Written != s.Events || s.Events == 0 || s.Snapshots != 2 ||
		s.SnapshotsWritten != 2 || s.Failed != 0 {
		t.Errorf("%+v", s)
	}
	if c := verify(t, from, to); c.PersistenceIDs != 9 || c.Events != s.Events || c.Snapshots != 2 || c.Behind != 0 {
		t.Errorf("%+v, want the copied numbers: %+v", c, s)
	}
	wantItems(t, from.items(t), before)
	copied := to.items(t)
	if again := run(t, from, to, migration.Options{}); again.Events != s.Events || again.Written != 0 ||
		again.SnapshotsWritten != 0 {
		t.Errorf("again: %+v", again)
	}
	wantItems(t, to.items(t), copied)
	for f, err := range to.VerifyAll(t.Context(), dynajournal.VerifyOptions{}) {
		t.Errorf("finding %+v, %v", f, err)
	}
}

// mortal lets a number of requests through, and none after that. The response to the last one may
// be lost.
type mortal struct {
	inner aws.HTTPClient
	left  atomic.Int64
	late  bool
}

var errKilled = errors.New("killed")

// Do sends a request if one is left.
func (m *mortal) Do(r *http.Request) (*http.Response, error) {
	left := m.left.Add(-1)
	if left < 0 || left == 0 && !m.late {
		return nil, errKilled
	}
	answer, err := m.inner.Do(r)
	if left == 0 && err == nil {
		_ = answer.Body.Close()
		return nil, errKilled
	}
	return answer, err
}

// TestRun_KilledFiftyTimes kills migrations at random requests, with
// and without a state file. After fifty are dead, it lets the last one live: every item of the
// target must be the same as after an undisturbed run.
func TestRun_KilledFiftyTimes(t *testing.T) {
	t.Parallel()
	const kills = 50
	for name, stateful := range map[string]bool{"state in a file": true, "state in the target": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to, undisturbed := open(t, true), open(t, false), open(t, false)
			fill(t, from)
			run(t, from, undisturbed, migration.Options{})
			state := filepath.Join(t.TempDir(), "state")
			random := rand.New(rand.NewPCG(3, 4))
			for dead := 0; dead < kills; {
				if runUntilKilled(t, from, to, state, stateful, 3+random.Int64N(60)) {
					to = open(t, false) // the run before was complete: start again
					state = filepath.Join(t.TempDir(), "state")
					continue
				}
				dead++
			}
			if !runUntilKilled(t, from, to, state, stateful, 1<<40) {
				t.Fatal("the last run was killed")
			}
			wantItems(t, to.items(t), undisturbed.items(t))
			verify(t, from, to)
		})
	}
}

// runUntilKilled runs a migration whose target fails after the given number of requests. It reports
// whether the migration was complete.
func runUntilKilled(t *testing.T, from, to *fixture, path string, stateful bool, requests int64) bool {
	t.Helper()
	config := to.config
	m := &mortal{inner: config.AWS.HTTPClient, late: requests%2 == 0}
	m.left.Store(1 << 40)
	config.AWS.HTTPClient = m
	j, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	opts := migration.Options{Retries: -1, Parallelism: 3}
	if stateful {
		if opts.State, err = migration.OpenState(path, "test"); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = opts.State.Close() }()
	}
	m.left.Store(requests)
	_, err = migration.Run(t.Context(), migration.Current{Journal: from.Journal}, j, opts)
	if err != nil && !errors.Is(err, dynajournal.ErrUnavailable) && !errors.Is(err, context.Canceled) {
		t.Fatalf("Run: %v", err)
	}
	return err == nil
}

func TestRun_CatchUpCopiesOnlyNewEvents(t *testing.T) {
	t.Parallel()
	from, to := open(t, true), open(t, false)
	from.write(t, "long", 350, false)
	from.write(t, "cut", 3, false)
	from.write(t, "cut", 8, true)
	run(t, from, to, migration.Options{})
	from.write(t, "long", 2, false)
	from.write(t, "new", 2, true)
	from.delete(t, "cut", 6)
	s := run(t, from, to, migration.Options{CatchUp: true})
	if s.Written != 4 || s.Events > 15 {
		t.Errorf("%+v, want 4 written and few others read", s)
	}
	verify(t, from, to)
	if s := run(t, from, to, migration.Options{CatchUp: true}); s.Written != 0 {
		t.Errorf("again: %+v", s)
	}
}

// A copy that was killed within an atomic write over two blocks leaves parts of the write. Catching
// up finishes it.
func TestRun_CatchUpAfterKillInAtomicWrite(t *testing.T) {
	t.Parallel()
	from, to := open(t, false), open(t, false)
	from.write(t, "a", 98, false)
	from.write(t, "a", 210, true)
	run(t, from, to, migration.Options{})
	for _, seq := range []int{99, 150, 205, 308} { // as if they had never arrived
		if _, err := to.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
			TableName: new(dynajournal.DefaultJournalTable),
			Key: map[string]types.AttributeValue{
				"par": &types.AttributeValueMemberS{Value: fmt.Sprintf("journal-P-a-%d", seq/100)},
				"num": &types.AttributeValueMemberN{Value: fmt.Sprint(seq % 100)},
			},
		}); err != nil {
			t.Fatal(err)
		}
	}
	if s := run(t, from, to, migration.Options{CatchUp: true}); s.Written != 4 {
		t.Errorf("%+v, want 4 written", s)
	}
	verify(t, from, to)
}

func TestRun_DifferentContentInTarget(t *testing.T) {
	t.Parallel()
	from, to := open(t, false), open(t, false)
	for _, pid := range []string{"a", "b", "c"} {
		from.write(t, pid, 3, false)
	}
	to.write(t, "b", 2, false)
	before := to.items(t)
	s, err := migration.Run(t.Context(), migration.Current{Journal: from.Journal}, to.Journal, migration.Options{})
	conflict := new(dynajournal.ContentConflictError)
	if !errors.Is(err, migration.ErrIncomplete) || !errors.As(err, &conflict) || conflict.PersistenceID != "b" ||
		conflict.SequenceNumber != 1 {
		t.Errorf("error %v, want a conflict of b at 1", err)
	}
	if s.PersistenceIDs != 2 || s.Failed != 1 || len(s.Failures) != 1 || s.Failures[0].PersistenceID != "b" {
		t.Errorf("%+v", s)
	}
	after := to.items(t)
	for key, item := range before {
		if !reflect.DeepEqual(after[key], item) {
			t.Errorf("%q is %v, was %v", key, after[key], item)
		}
	}
	c, err := migration.Verify(t.Context(), migration.Current{Journal: from.Journal}, to.Journal, migration.Options{})
	if !errors.Is(err, migration.ErrDifferent) || c.Different != 1 || c.Differences[0].PersistenceID != "b" ||
		c.Differences[0].SequenceNumber != 1 || c.PersistenceIDs != 2 {
		t.Errorf("%+v, %v", c, err)
	}
}

// Verify succeeds only if source and target are equal. Everything that the target lacks or has in
// addition is a difference at its number.
func TestVerify_FindsEachDifference(t *testing.T) {
	t.Parallel()
	from, to := open(t, false), open(t, false)
	for _, pid := range []string{"behind", "ahead", "deleted", "unsaved", "saved", "newer", "purged", "retired",
		"lost", "other", "timeless", "same"} {
		from.write(t, pid, 3, false)
	}
	from.write(t, "closed", 2, false)
	from.delete(t, "closed", 2)
	for _, pid := range []string{"saved", "newer"} {
		from.save(t, pid, 2, 10)
	}
	run(t, from, to, migration.Options{})
	from.write(t, "behind", 1, false)
	from.write(t, "new", 1, false)
	to.write(t, "ahead", 1, false)
	to.write(t, "only here", 2, false)
	to.delete(t, "deleted", 1)
	from.save(t, "unsaved", 3, 10)
	to.save(t, "saved", 1, 10)
	to.save(t, "newer", 3, 10)
	for _, pid := range []string{"other", "closed"} {
		if _, err := to.writer(t, pid).Purge(t.Context(), dynajournal.PurgeOptions{Now: true}); err != nil {
			t.Fatal(err)
		}
	}
	to.write(t, "other", 3, false)
	for pid, now := range map[string]bool{"purged": true, "retired": false} {
		if _, err := to.writer(t, pid).Purge(t.Context(), dynajournal.PurgeOptions{Now: now}); err != nil {
			t.Fatal(err)
		}
	}
	for _, seq := range []string{"3"} {
		if _, err := to.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
			TableName: new(dynajournal.DefaultJournalTable),
			Key:       map[string]types.AttributeValue{"par": &types.AttributeValueMemberS{Value: "journal-P-lost-0"}, "num": &types.AttributeValueMemberN{Value: seq}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := to.client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: new(dynajournal.DefaultJournalTable), UpdateExpression: new("REMOVE #t"),
		Key:                      map[string]types.AttributeValue{"par": &types.AttributeValueMemberS{Value: "journal-P-timeless-0"}, "num": &types.AttributeValueMemberN{Value: "2"}},
		ExpressionAttributeNames: map[string]string{"#t": "time"},
	}); err != nil {
		t.Fatal(err)
	}
	wants := map[string]string{
		"timeless":  "2 the source has event 2 of writer ", // in the target it has another time
		"behind":    "4 the source has event 4 of writer ",
		"new":       "1 the source has event 1 of writer ",
		"ahead":     "4 the source has nothing, the target event 4 of writer ",
		"only here": "1 the source has nothing, the target event 1 of writer ",
		"deleted":   "1 the source has event 1 of writer ",
		"unsaved":   "3 the target has no snapshot there",
		"newer":     "3 the target has a snapshot that is newer",
		"purged":    "1 the source has event 1 of writer ",
		"retired":   "1 the source has event 1 of writer ",
		"lost":      "3 the source has event 3 of writer ",
		"other":     "1 the source has event 1 of writer ",
		"closed":    "3 the source has a low mark of 3, the target nothing",
	}
	c, err := migration.Verify(t.Context(), migration.Current{Journal: from.Journal}, to.Journal,
		migration.Options{Parallelism: 1})
	if !errors.Is(err, migration.ErrDifferent) || c.PersistenceIDs != 2 || c.Different != int64(len(wants)) ||
		c.Behind != 4 {
		t.Errorf("%+v, %v", c, err)
	}
	wantDifferences(t, c, wants)

	// While programs write to the source, its newest content is not a difference, and a snapshot
	// can be newer than the copy.
	for _, pid := range []string{"behind", "new", "purged", "lost", "only here", "unsaved"} {
		delete(wants, pid)
	}
	c, err = migration.Verify(t.Context(), migration.Current{Journal: from.Journal}, to.Journal,
		migration.Options{Parallelism: 1, SourceLive: true})
	if !errors.Is(err, migration.ErrDifferent) || c.Different != int64(len(wants)) || c.Behind != 4 {
		t.Errorf("%+v, %v", c, err)
	}
	wantDifferences(t, c, wants)

	// Only the named ids are compared.
	c, err = migration.Verify(t.Context(), migration.Current{Journal: from.Journal}, to.Journal,
		migration.Options{PersistenceIDs: []string{"same", "saved"}})
	if err != nil || c.PersistenceIDs != 2 || c.Events != 6 {
		t.Errorf("%+v, %v", c, err)
	}
	empty := open(t, false)
	c, err = migration.Verify(t.Context(), migration.Current{Journal: from.Journal}, empty.Journal, migration.Options{})
	if !errors.Is(err, migration.ErrDifferent) || c.PersistenceIDs != 0 {
		t.Errorf("an empty target: %+v, %v", c, err)
	}
}

func wantDifferences(t *testing.T, c migration.Comparison, wants map[string]string) {
	t.Helper()
	for _, d := range c.Differences {
		got := fmt.Sprint(d.SequenceNumber, " ", d.Detail)
		if want, ok := wants[d.PersistenceID]; !ok || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", d.PersistenceID, got, want)
		}
	}
}

func TestOpenState_OtherMigration(t *testing.T) {
	t.Parallel()
	from, to := open(t, false), open(t, false)
	from.write(t, "a", 2, false)
	path := filepath.Join(t.TempDir(), "state")
	state, err := migration.OpenState(path, "one")
	if err != nil {
		t.Fatal(err)
	}
	run(t, from, to, migration.Options{State: state})
	from.write(t, "b", 2, false)
	if s := run(t, from, to, migration.Options{State: state}); s.Skipped != 1 || s.PersistenceIDs != 1 {
		t.Errorf("%+v, want one skipped", s)
	}
	if s := run(t, from, to, migration.Options{State: state, CatchUp: true}); s.Skipped != 0 || s.PersistenceIDs != 2 {
		t.Errorf("catching up: %+v, want none skipped", s)
	}
	if err := state.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := migration.OpenState(path, "other"); err == nil ||
		!strings.Contains(err.Error(), "another migration: one") {
		t.Errorf("the state of another migration: %v", err)
	}
}

// A source that refuses most of its requests is copied completely: if the retries of a request
// fail, the retry of the id succeeds.
func TestRun_ThrottledSource(t *testing.T) {
	t.Parallel()
	from, to := open(t, false), open(t, false)
	from.write(t, "a", 120, false)
	remove, err := from.engine.Inject(embedded.Fault{Effect: embedded.EffectThrottling, Probability: 0.7})
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	s, err := migration.Run(t.Context(), migration.Current{Journal: from.Journal, WithoutSnapshots: true}, to.Journal,
		migration.Options{PersistenceIDs: []string{"a"}, Retries: 1000, Pause: time.Nanosecond})
	if err != nil || s.Written == 0 {
		t.Errorf("%+v, %v", s, err)
	}
	remove()
	verify(t, from, to)
	if _, err = from.engine.Inject(embedded.Fault{Effect: embedded.EffectThrottling, Probability: 1}); err != nil {
		t.Fatal(err)
	}
	_, err = migration.Run(t.Context(), migration.Current{Journal: from.Journal}, to.Journal,
		migration.Options{Retries: 2, Pause: time.Nanosecond})
	if !errors.Is(err, dynajournal.ErrThrottled) {
		t.Errorf("a source that is always throttled: %v, want %v", err, dynajournal.ErrThrottled)
	}
}

// With a limit whose wait would exceed the context's deadline, the first request that has to wait
// ends the copy.
func TestRun_CapacityLimit(t *testing.T) {
	t.Parallel()
	from, to := open(t, false), open(t, false)
	from.write(t, "a", 10, false)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	const unitADay = 1.0 / 86400
	for _, opts := range []migration.Options{{WriteUnitsPerSecond: unitADay}, {ReadUnitsPerSecond: unitADay}} {
		s, err := migration.Run(ctx, migration.Current{Journal: from.Journal}, to.Journal, opts)
		if err == nil || !strings.Contains(err.Error(), "wait for capacity") || s.Failed != 1 {
			t.Errorf("%+v: %+v, %v", opts, s, err)
		}
	}
}

// A copy whose options say that it needs no snapshots reports each persistence id that lacks one.
func TestRun_NeedsNoSnapshotsReportsEachLoss(t *testing.T) {
	t.Parallel()
	from, to := open(t, false), open(t, false)
	var losses []dynajournal.Loss
	config := from.config
	config.Hooks = []dynajournal.Hook{{OnLoss: func(_ context.Context, loss dynajournal.Loss) { losses = append(losses, loss) }}}
	source, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := source.Close(); err != nil {
			t.Error(err)
		}
	}()
	from.write(t, "a", 3, false)
	from.write(t, "b", 3, false)
	if _, err := from.writer(t, "a").DeleteCovered(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	current := migration.Current{Journal: source, WithoutSnapshots: true, NeedsNoSnapshots: true}
	if _, err := migration.Run(t.Context(), current, to.Journal, migration.Options{}); err != nil {
		t.Fatal(err)
	}
	if len(losses) != 1 || losses[0].PersistenceID != "a" {
		t.Fatalf("the hook was called with %+v, want one loss", losses)
	}
	want := dynajournal.SnapshotMissingError{PersistenceID: "a", DeletedTo: 2}
	if missing, ok := errors.AsType[*dynajournal.SnapshotMissingError](losses[0].Err); !ok || *missing != want {
		t.Errorf("the hook was called with %+v, want %+v", losses[0].Err, want)
	}
}

func TestOptions_Invalid(t *testing.T) {
	t.Parallel()
	from, to := open(t, false), open(t, false)
	for _, opts := range []migration.Options{{Parallelism: -1}, {ReadUnitsPerSecond: -1}, {WriteUnitsPerSecond: -1},
		{Pause: -1}} {
		if _, err := migration.Run(t.Context(), migration.Current{Journal: from.Journal}, to.Journal,
			opts); !errors.Is(err, dynajournal.ErrInvalidArgument) {
			t.Errorf("%+v: %v", opts, err)
		}
	}
}
