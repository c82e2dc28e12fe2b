package systemtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/core"
)

// sleeper is a machine with a journal, and an engine. The test sets the clocks of both. Another
// machine has its own journal, which uses the engine's clock.
type sleeper struct {
	*testing.T

	engine *embedded.Engine
	// local is the machine's wall clock, elapsed its monotonic clock. service is the engine's
	// clock.
	local, elapsed, service atomic.Int64
	journal, other          *dynajournal.Journal
	// meets is called once, at a request of the operation armed, after pass further requests of it.
	armed atomic.Pointer[string]
	pass  atomic.Int64
	meets func(r *http.Request, send sender) (*http.Response, error)
	// signs, if set, is called once, when a request is signed.
	signs atomic.Pointer[func()]
}

func newSleeper(t *testing.T, options dynajournal.TableOptions, change ...func(*dynajournal.Config)) *sleeper {
	t.Helper()
	s := &sleeper{T: t}
	start := time.Now().Truncate(time.Second)
	at := func(d *atomic.Int64) func() time.Time {
		return func() time.Time { return start.Add(time.Duration(d.Load())) }
	}
	s.engine = openEngine(t, embedded.WithClock(at(&s.service)))
	config := dynajournal.Config{AWS: s.engine.AWSConfig(), FenceWindow: time.Hour}
	quick(&config)
	for _, f := range change {
		f(&config)
	}
	createTables(t, config, options)
	others := config
	core.SetClock(&others, clock.New(at(&s.service), func() time.Duration { return time.Duration(s.service.Load()) }))
	s.other = openJournal(t, others)
	core.SetClock(&config, clock.New(at(&s.local), func() time.Duration { return time.Duration(s.elapsed.Load()) }))
	credentials := config.AWS.Credentials
	config.AWS.Credentials = aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		if signs := s.signs.Swap(nil); signs != nil {
			(*signs)()
		}
		return credentials.Retrieve(ctx)
	})
	config.AWS.HTTPClient = through(config.AWS.HTTPClient, func(r *http.Request, send sender) (*http.Response, error) {
		if armed := s.armed.Load(); armed != nil && *armed == operation(r) && s.pass.Add(-1) < 0 && s.armed.CompareAndSwap(armed, nil) {
			return s.meets(r, send)
		}
		return send(r)
	})
	s.journal = openJournal(t, config)
	return s
}

// sleep lets time pass while the machine sleeps, so its monotonic clock stops.
func (s *sleeper) sleep(d time.Duration) {
	s.service.Add(int64(d))
	s.local.Add(int64(d))
	if _, err := s.engine.SweepExpired(); err != nil {
		s.Error(err)
	}
}

// at makes the next request of an operation call f.
func (s *sleeper) at(operation string, f func(r *http.Request, send sender) (*http.Response, error)) {
	s.meets = f
	s.armed.Store(&operation)
}

// Outcomes of an attempt.
func throttled(r *http.Request, _ sender) (*http.Response, error) {
	return failure(r, "ThrottlingException"), nil
}

func notConnected(*http.Request, sender) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
}

func lost(*http.Request, sender) (*http.Response, error) {
	return nil, &net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset by peer")}
}

func answered(r *http.Request, send sender) (*http.Response, error) { return send(r) }

// overtake makes another machine append two events after the first and delete all three. When their
// tombstones have expired, the other machine appends another event.
func (s *sleeper) overtake() {
	w := recovered(s.T, s.other, "a")
	for range 2 {
		if _, err := w.Append(s.Context(), "other"); err != nil {
			s.Error(err)
		}
	}
	if _, err := w.DeleteTo(s.Context(), 3); err != nil {
		s.Error(err)
	}
	s.sleep(30 * time.Hour)
	if _, err := recovered(s.T, s.other, "a").Append(s.Context(), "other"); err != nil {
		s.Error(err)
	}
}

// Nothing is stored any more at the number to which an earlier writer writes. So only a check
// before the attempt stops the writer, whatever happened between its first attempt and the next.
func TestWriterThatSleptBetweenAttemptsIsStopped(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first func(*http.Request, sender) (*http.Response, error)
		want  error
	}{
		"throttled":     {throttled, dynajournal.ErrWriterConflict},
		"no connection": {notConnected, dynajournal.ErrWriterConflict},
		"answer lost":   {lost, dynajournal.ErrOutcomeUnknown},
	} {
		for _, events := range [][]any{{"late"}, {"late", "later"}} {
			t.Run(fmt.Sprintf("%s, %d events", name, len(events)), func(t *testing.T) {
				t.Parallel()
				s := newSleeper(t, kinds["native"])
				stale := written(t, s.journal, "a", 1)
				s.at(map[bool]string{true: "PutItem", false: "BatchExecuteStatement"}[len(events) == 1], func(r *http.Request, send sender) (*http.Response, error) {
					s.overtake()
					return c.first(r, send)
				})
				_, err := stale.Append(t.Context(), events...)
				wantError(t, "Append", err, c.want)
				if got := numbersText(numbersOf(readEvents(t, s.other, "a", dynajournal.Range{}))); got != "4" {
					t.Errorf("events %s, want 4", got)
				}
				_, err = stale.Append(t.Context(), "again")
				wantError(t, "Append afterwards", err, dynajournal.ErrWriterEnded)
			})
		}
	}
}

func TestWriterThatSleptBeforeSigningIsStopped(t *testing.T) {
	t.Parallel()
	s := newSleeper(t, kinds["native"])
	stale := written(t, s.journal, "a", 1)
	s.signs.Store(new(s.overtake))
	_, err := stale.Append(t.Context(), "late")
	wantError(t, "Append", err, dynajournal.ErrWriterConflict)
}

// A writer that is still the last one writes after its sleep without an error.
func TestSleep_WriterIsStillTheLast(t *testing.T) {
	t.Parallel()
	s := newSleeper(t, kinds["native"])
	w := written(t, s.journal, "a", 1)
	s.at("PutItem", func(r *http.Request, send sender) (*http.Response, error) {
		s.sleep(30 * time.Hour)
		return throttled(r, send)
	})
	if result, err := w.Append(t.Context(), "event"); err != nil || result.First != 2 {
		t.Errorf("wrote %d, %v; want 2", result.First, err)
	}
}

// The first check after a sleep starts with a service time from before the sleep. It must not make
// a purge fail as too late.
func TestFirstOperationAfterASleepIsDone(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(context.Context, *dynajournal.Writer) error{
		"append": func(ctx context.Context, w *dynajournal.Writer) error { _, err := w.Append(ctx, "event"); return err },
		"delete": func(ctx context.Context, w *dynajournal.Writer) error { _, err := w.DeleteTo(ctx, 1); return err },
		"purge": func(ctx context.Context, w *dynajournal.Writer) error {
			_, err := w.Purge(ctx, dynajournal.PurgeOptions{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSleeper(t, kinds["native"])
			w := written(t, s.journal, "a", 2)
			s.sleep(13 * time.Hour)
			if err := do(t.Context(), w); err != nil {
				t.Error(err)
			}
		})
	}
}

// An outcome of AppendEach is decided when its event is durable. If the machine sleeps while the
// call writes the next event, the call may report events that were purged completely.
func TestOutcomeOfAppendEachIsDecidedWhenItsEventIsDurable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		next func(*http.Request, sender) (*http.Response, error)
		want error
	}{
		"throttled":   {throttled, dynajournal.ErrWriterConflict},
		"answer lost": {lost, dynajournal.ErrOutcomeUnknown},
		"answered":    {answered, dynajournal.ErrOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSleeper(t, kinds["native"])
			stale := recovered(t, s.journal, "a")
			s.at("PutItem", func(r *http.Request, send sender) (*http.Response, error) {
				s.at("PutItem", func(r *http.Request, send sender) (*http.Response, error) {
					if got := numbersText(numbersOf(readEvents(t, s.other, "a", dynajournal.Range{}))); got != "1" {
						t.Errorf("before the purge there are events %s, want 1", got)
					}
					if _, err := recovered(t, s.other, "a").Purge(t.Context(), dynajournal.PurgeOptions{}); err != nil {
						t.Error(err)
					}
					s.sleep(2 * time.Hour)
					return c.next(r, send)
				})
				return send(r)
			})
			outcomes, err := stale.AppendEach(t.Context(), "first", "second", "third")
			wantError(t, "AppendEach", err, c.want)
			if outcomes[0].SequenceNumber != 1 || outcomes[0].Err != nil {
				t.Errorf("the first outcome is %+v, want an event at 1", outcomes[0])
			}
			wantError(t, "the second outcome", outcomes[1].Err, c.want)
			wantError(t, "the third outcome", outcomes[2].Err, dynajournal.ErrSkipped)
			_, err = stale.Append(t.Context(), "again")
			wantError(t, "Append afterwards", err, dynajournal.ErrWriterEnded)
			if got := numbersOf(readEvents(t, s.other, "a", dynajournal.Range{To: 1})); len(got) > 0 {
				t.Errorf("after the purge there are events %v, want none at 1", got)
			}
		})
	}
}

// The wall clock was set back while the machine slept, so no time has passed according to both
// local clocks. Only the date of the response shows the sleep.
func TestSleep_NotShownByLocalClocks(t *testing.T) {
	t.Parallel()
	s := newSleeper(t, kinds["native"])
	stale := written(t, s.journal, "a", 1)
	s.at("PutItem", func(r *http.Request, send sender) (*http.Response, error) {
		s.overtake()
		s.local.Add(-int64(30 * time.Hour))
		return answered(r, send)
	})
	_, err := stale.Append(t.Context(), "late")
	wantError(t, "Append", err, dynajournal.ErrOutcomeUnknown)
}

// A deletion or purge sleeps in the middle. Meanwhile the persistence id was purged and used again.
// The deletion must not remove events of the new life.
func TestSleep_DeletionOfIDThatIsUsedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options dynajournal.TableOptions
		at      string
		pass    int64
		remove  func(context.Context, *dynajournal.Writer) error
	}{
		"deletion": {kinds["native"], "BatchWriteItem", 0, func(ctx context.Context, w *dynajournal.Writer) error {
			_, err := w.DeleteTo(ctx, 2)
			return err
		}},
		"deletion in a shared journal": {kinds["shared"], "PutItem", 1, func(ctx context.Context, w *dynajournal.Writer) error {
			_, err := w.DeleteTo(ctx, 2)
			return err
		}},
		"purge": {kinds["native"], "BatchWriteItem", 0, func(ctx context.Context, w *dynajournal.Writer) error {
			_, err := w.Purge(ctx, dynajournal.PurgeOptions{})
			return err
		}},
		"purge at once": {kinds["native"], "BatchWriteItem", 0, func(ctx context.Context, w *dynajournal.Writer) error {
			_, err := w.Purge(ctx, dynajournal.PurgeOptions{Now: true})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSleeper(t, c.options)
			w := written(t, s.journal, "a", 3)
			s.pass.Store(c.pass)
			s.at(c.at, func(r *http.Request, send sender) (*http.Response, error) {
				s.sleep(2 * time.Hour)
				if _, err := recovered(t, s.other, "a").Purge(t.Context(), dynajournal.PurgeOptions{Now: true}); err != nil {
					t.Error(err)
				}
				s.sleep(2 * time.Hour)
				written(t, s.other, "a", 3)
				return throttled(r, send)
			})
			if err := c.remove(t.Context(), w); err == nil {
				t.Error("no error")
			}
			if got := numbersText(numbersOf(readEvents(t, s.other, "a", dynajournal.Range{}))); got != "1-3" {
				t.Errorf("events %s, want 1-3", got)
			}
			if _, err := recovered(t, s.other, "a").Append(t.Context(), "4"); err != nil {
				t.Errorf("Append: %v", err)
			}
		})
	}
}

// A purge that sleeps while it deletes snapshots must not delete the snapshots of the next life.
func TestSleep_PurgeOfSnapshotsOfIDThatIsUsedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		events int
		now    bool
		pass   int64
	}{
		"purge":                   {3, false, 1}, // after the tombstones
		"purge at once":           {3, true, 0},
		"purge without any event": {0, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSleeper(t, kinds["native"])
			snapshot := dynajournal.SnapshotMetadata{PersistenceID: "a", SequenceNumber: 2}
			save := func() {
				if _, err := s.other.SaveSnapshot(t.Context(), snapshot, "state"); err != nil {
					t.Error(err)
				}
			}
			w := recovered(t, s.journal, "a")
			if c.events > 0 {
				w = written(t, s.journal, "a", c.events)
			}
			save()
			s.pass.Store(c.pass)
			s.at("BatchWriteItem", func(r *http.Request, send sender) (*http.Response, error) {
				s.sleep(2 * time.Hour)
				if _, err := recovered(t, s.other, "a").Purge(t.Context(), dynajournal.PurgeOptions{Now: true}); err != nil {
					t.Error(err)
				}
				s.sleep(2 * time.Hour)
				written(t, s.other, "a", 3)
				save()
				return throttled(r, send)
			})
			_, err := w.Purge(t.Context(), dynajournal.PurgeOptions{Now: c.now})
			wantError(t, "Purge", err, dynajournal.ErrTooLate)
			if _, ok, err := s.other.LoadSnapshot(t.Context(), "a", dynajournal.SnapshotCriteria{}); err != nil || !ok {
				t.Errorf("the snapshot of the next life: %v, %v", ok, err)
			}
		})
	}
}

// stay checks that the tombstones are stored for the whole fence window, starting now.
func (s *sleeper) stay(want int) {
	s.Helper()
	s.service.Add(int64(time.Hour))
	if _, err := s.engine.SweepExpired(); err != nil {
		s.Fatal(err)
	}
	l, err := s.other.List(s.Context(), "a")
	if err != nil || len(l.Tombstones) != want {
		s.Errorf("after the fence window there are tombstones at %v, %v; want %d of them", l.Tombstones, err, want)
	}
}

// A tombstone stays for the whole fence window after it was written, however long its request
// waited.
func TestTombstonesThatWaitedStayAsLong(t *testing.T) {
	t.Parallel()
	s := newSleeper(t, kinds["native"])
	w := written(t, s.journal, "a", 3)
	s.at("BatchWriteItem", func(r *http.Request, send sender) (*http.Response, error) {
		s.sleep(20 * time.Minute)
		return throttled(r, send)
	})
	if _, err := w.DeleteTo(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	s.stay(2)
}

func TestTombstonesOfASlowClockStayAsLong(t *testing.T) {
	t.Parallel()
	s := newSleeper(t, kinds["native"])
	s.local.Add(-int64(5 * time.Minute))
	if _, err := written(t, s.journal, "a", 3).DeleteTo(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	s.stay(2)
}

func TestDeletionWithAClockThatIsOffWritesNothing(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{-25 * time.Hour, -7 * time.Minute, 7 * time.Minute, 25 * time.Hour} {
		for name, remove := range map[string]func(context.Context, *dynajournal.Writer) error{
			"deletion": func(ctx context.Context, w *dynajournal.Writer) error {
				_, err := w.DeleteTo(ctx, 2)
				return err
			},
			"purge": func(ctx context.Context, w *dynajournal.Writer) error {
				_, err := w.Purge(ctx, dynajournal.PurgeOptions{})
				return err
			},
		} {
			t.Run(fmt.Sprintf("%s, %v", name, off), func(t *testing.T) {
				t.Parallel()
				s := newSleeper(t, kinds["native"])
				s.local.Add(int64(off))
				w := written(t, s.journal, "a", 3)
				before, err := s.other.List(t.Context(), "a")
				if err != nil {
					t.Fatal(err)
				}
				err = remove(t.Context(), w)
				var clock *dynajournal.ClockError
				if !errors.As(err, &clock) || !errors.Is(err, dynajournal.ErrClock) || clock.Offset != off || clock.Limit != 6*time.Minute {
					t.Fatalf("error %v, want a clock that is off by %v", err, off)
				}
				if after, err := s.other.List(t.Context(), "a"); err != nil || fmt.Sprint(after) != fmt.Sprint(before) {
					t.Errorf("there is %+v, %v; before there was %+v", after, err, before)
				}
				s.local.Add(-int64(off))
				if err := remove(t.Context(), w); err != nil {
					t.Errorf("with the right clock: %v", err)
				}
			})
		}
	}
}

// A purge of a persistence id that was purged before removes the items that the first purge has
// left.
func TestSecondPurgeWithAClockThatIsOffPutsNoTombstone(t *testing.T) {
	t.Parallel()
	s := newSleeper(t, kinds["native"])
	purge := func(j *dynajournal.Journal) error {
		w, err := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Purge(t.Context(), dynajournal.PurgeOptions{})
		return err
	}
	written(t, s.other, "a", 3)
	if err := purge(s.other); err != nil {
		t.Fatal(err)
	}
	s.local.Add(int64(25 * time.Hour))
	if err := purge(s.journal); !errors.Is(err, dynajournal.ErrClock) {
		t.Errorf("a clock that is off: %v", err)
	}
	s.local.Add(-int64(25 * time.Hour))
	if err := purge(s.journal); err != nil {
		t.Errorf("the right clock: %v", err)
	}
}

// A copy that is repeated after the tombstones of the first copy have expired writes them again.
func TestSecondCopyWithAClockThatIsOffPutsNoTombstone(t *testing.T) {
	t.Parallel()
	s := newSleeper(t, kinds["native"])
	records := []dynajournal.Record{
		{Kind: dynajournal.RecordLowMark, SequenceNumber: 4},
		{Kind: dynajournal.RecordDeleted, SequenceNumber: 1, Last: 3},
	}
	copied := func(j *dynajournal.Journal) error {
		_, err := j.PutRecords(t.Context(), "a", each(records), dynajournal.PutRecordsOptions{})
		return err
	}
	if err := copied(s.other); err != nil {
		t.Fatal(err)
	}
	s.sleep(25 * time.Hour)
	s.local.Add(int64(25 * time.Hour))
	if err := copied(s.journal); !errors.Is(err, dynajournal.ErrClock) {
		t.Errorf("a clock that is off: %v", err)
	}
	if l, err := s.other.List(t.Context(), "a"); err != nil || len(l.Tombstones) > 0 {
		t.Errorf("there is %+v, %v", l, err)
	}
	s.local.Add(-int64(25 * time.Hour))
	if err := copied(s.journal); err != nil {
		t.Errorf("the right clock: %v", err)
	}
}

// A tombstone from a wrong clock would expire too late or too early.
func TestRepairWithAClockThatIsOffPutsNoTombstone(t *testing.T) {
	t.Parallel()
	s := newSleeper(t, kinds["native"])
	written(t, s.other, "a", 3)
	loseJournal(t, s.other, "a", 50)
	s.local.Add(int64(25 * time.Hour))
	orphans := func() (left int, failed error) {
		for _, err := range s.journal.Repair(t.Context(), "a", dynajournal.VerifyOptions{RemoveOrphans: true, Archive: func(dynajournal.RemovedItem) error { return nil }}) {
			failed = errors.Join(failed, err)
		}
		l, err := s.other.List(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		return len(l.SequenceNumbers), failed
	}
	if left, err := orphans(); !errors.Is(err, dynajournal.ErrClock) || left != 3 {
		t.Errorf("the repair left %d events: %v", left, err)
	}
	s.local.Add(-int64(25 * time.Hour))
	if left, err := orphans(); err != nil || left != 0 {
		t.Errorf("with the right clock the repair left %d events: %v", left, err)
	}
}

// A service time from before the machine slept does not show that the clock is off.
func TestDeletionAfterASleepIsNotRefused(t *testing.T) {
	t.Parallel()
	s := newSleeper(t, kinds["native"])
	w := written(t, s.journal, "a", 3)
	s.sleep(20 * time.Minute)
	if _, err := w.DeleteTo(t.Context(), 2); err != nil {
		t.Error(err)
	}
}

// A recovery must not seal a hole that it has read long ago.
func TestRecover_SuspendedBeforeSealStartsOver(t *testing.T) {
	t.Parallel()
	s := newSleeper(t, kinds["native"])
	written(t, s.journal, "a", 3)
	removeItem(t, dynamodb.NewFromConfig(s.engine.AWSConfig()), "journal-P-a-0", 2)
	s.at("PutItem", func(r *http.Request, send sender) (*http.Response, error) {
		s.sleep(30 * time.Hour)
		return throttled(r, send)
	})
	lost := dynajournal.RecoverOptions{SkipMissing: true}
	_, err := s.journal.Recover(t.Context(), "a", lost, noHandler)
	wantError(t, "Recover", err, dynajournal.ErrTooLate)
	if l, err := s.other.List(t.Context(), "a"); err != nil || len(l.Seals) != 0 {
		t.Errorf("seals %v, %v; want none", l.Seals, err)
	}
	if _, err := s.journal.Recover(t.Context(), "a", lost, noHandler); err != nil {
		t.Error(err)
	}
}

// A handler that takes longer than half the fence window does not make the recovery fail.
func TestRecoveryWithASlowHandlerReadsAgain(t *testing.T) {
	t.Parallel()
	s := newSleeper(t, kinds["native"])
	written(t, s.other, "a", 3)
	w, err := s.journal.Recover(t.Context(), "a", dynajournal.RecoverOptions{After: 0}, func(dynajournal.Event) error {
		s.sleep(20 * time.Minute)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if result, err := w.Append(t.Context(), "event"); err != nil || result.First != 4 {
		t.Errorf("wrote %d, %v; want 4", result.First, err)
	}
}
