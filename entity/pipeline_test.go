package entity_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
)

// answer is the result of a command.
type answer struct {
	name   string
	result int
	err    error
}

// pipeline runs commands one after the other on an entity while its first write is blocked.
type pipeline struct {
	*testing.T
	gate    *gate
	engine  *embedded.Engine
	hosted  *accounts
	journal *dynajournal.Journal
	answers chan answer
	release func()
	writes  struct {
		sync.Mutex
		all []entity.Write
	}
}

func newPipeline(t *testing.T, options dynajournal.TableOptions, kind kind, change func(*entity.Options)) *pipeline {
	t.Helper()
	p := &pipeline{T: t, gate: &gate{}, answers: make(chan answer, 100)}
	b := setup(t, options, single, p.gate.install)
	opts := entity.Options{Hooks: []entity.Hook{{OnWrite: func(_ context.Context, w entity.Write) {
		p.writes.Lock()
		defer p.writes.Unlock()
		p.writes.all = append(p.writes.all, w)
	}}}}
	if change != nil {
		change(&opts)
	}
	p.engine, p.journal = b.Engine, b.Journal()
	p.hosted = b.open(p.journal, kind, opts)
	return p
}

// start starts a command, and returns when the command was decided.
func (p *pipeline) start(name string, command func(*accountTx) (int, error), opts ...entity.CommandOption) {
	p.Helper()
	decided := make(chan struct{})
	once := sync.OnceFunc(func() { close(decided) })
	p.send(name, func(tx *accountTx) (int, error) {
		defer once()
		return command(tx)
	}, opts...)
	<-decided
}

// send starts a command.
func (p *pipeline) send(name string, command func(*accountTx) (int, error), opts ...entity.CommandOption) {
	go func() {
		result, err := entity.Do(context.Background(), p.hosted, "anna", command, opts...)
		p.answers <- answer{name, result, err}
	}()
}

// arrived waits until n commands have arrived at the entities.
func (p *pipeline) arrived(n int) {
	p.Helper()
	for p.hosted.Stats().Waiting < n {
		do(p.T, p.hosted, "other", balance)
	}
	do(p.T, p.hosted, "other", deposit(1)) // the last one is in the queue by now
}

// block starts a deposit of 100 whose write is blocked.
func (p *pipeline) block() {
	p.Helper()
	arrived, release := p.gate.block()
	p.release = release
	p.Cleanup(release)
	p.start("held", deposit(100))
	<-arrived
}

// want checks the next answers, in any order.
func (p *pipeline) want(want ...answer) {
	p.Helper()
	for range want {
		got := <-p.answers
		at := slices.IndexFunc(want, func(w answer) bool { return w.name == got.name })
		if at < 0 {
			p.Errorf("unexpected answer %+v", got)
			continue
		}
		if w := want[at]; got.result != w.result || (got.err == nil) != (w.err == nil) {
			p.Errorf("%s: got %d, %v; want %d, %v", got.name, got.result, got.err, w.result, w.err)
		} else if w.err != nil {
			wantError(p.T, got.name, got.err, w.err)
		}
	}
}

// wantNone checks that no command has returned. A write to another entity has finished since, so a
// command that could return would have returned.
func (p *pipeline) wantNone() {
	p.Helper()
	do(p.T, p.hosted, "other", deposit(1))
	select {
	case got := <-p.answers:
		p.Fatalf("%+v before its events are durable", got)
	default:
	}
}

// wantWrites checks how many events the writes of the entity had.
func (p *pipeline) wantWrites(want ...int) {
	p.Helper()
	p.writes.Lock()
	defer p.writes.Unlock()
	var got []int
	for _, w := range p.writes.all {
		if w.PersistenceID == "account|anna" && w.Err == nil {
			got = append(got, w.Events)
		}
	}
	if !slices.Equal(got, want) {
		p.Errorf("the writes have %v events, want %v", got, want)
	}
}

// Commands that follow while a write is in flight are decided on the state of the write, and are
// written together.
func TestCommands_JoinDuringWrite(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, dynajournal.TableOptions{}, accountType(), nil)
	p.block()
	p.start("withdraw", withdraw(30))
	p.start("too much", withdraw(1000))
	p.start("again", withdraw(30))
	p.start("read", balance)
	p.wantNone()
	p.release()
	p.want(answer{"held", 100, nil}, answer{"withdraw", 70, nil}, answer{"too much", 0, errInsufficient},
		answer{"again", 40, nil}, answer{"read", 40, nil})
	p.wantWrites(1, 2)
}

func TestCommandsOfASharedJournalAreNotJoined(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, dynajournal.TableOptions{SharedWithJVM: true}, accountType(), nil)
	p.block()
	p.start("one", deposit(1))
	p.send("two", deposit(1))
	p.arrived(3)
	p.release()
	p.want(answer{"held", 100, nil}, answer{"one", 101, nil}, answer{"two", 102, nil})
	p.wantWrites(1, 1, 1)
}

func TestJoinedCommandsKeepToTheLimits(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, dynajournal.TableOptions{}, accountType(), func(o *entity.Options) { o.Join.Events = 3 })
	p.block()
	three := func(tx *accountTx) (int, error) {
		tx.Record(Deposited{1}, Deposited{1}, Deposited{1})
		return tx.State().Balance, nil
	}
	p.start("one", deposit(1))
	p.start("three", three)
	p.send("two", deposit(2))
	p.release()
	p.want(answer{"held", 100, nil}, answer{"one", 101, nil}, answer{"three", 104, nil}, answer{"two", 106, nil})
	p.wantWrites(1, 1, 3, 1)
}

// The commands of a failed write get the error, and the commands that were decided on their events
// are decided again.
func TestCommands_WriteBeforeThemFails(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, dynajournal.TableOptions{}, accountType(), nil)
	do(t, p.hosted, "anna", deposit(50))
	p.block()
	p.start("withdraw", withdraw(120))
	p.start("read", balance)
	p.start("small", withdraw(20))
	refuse := embedded.Fault{Effect: embedded.EffectThroughputExceeded, Operation: "PutItem", Times: 1}
	if _, err := p.engine.Inject(refuse); err != nil {
		t.Fatal(err)
	}
	p.release()
	p.want(answer{"held", 0, dynajournal.ErrThrottled}, answer{"withdraw", 0, errInsufficient},
		answer{"read", 50, nil}, answer{"small", 30, nil})
}

// Another process writes while a write is blocked: all commands are decided again, in their order.
func TestCommandsAreDecidedAgainAfterAConflict(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	p := &pipeline{T: t, gate: &gate{}, answers: make(chan answer, 100)}
	p.hosted = b.open(b.Journal(p.gate.install), accountType(), entity.Options{})
	other := b.accounts()
	p.block()
	p.start("too much", withdraw(110))
	p.start("withdraw", withdraw(90))
	do(t, other, "anna", deposit(11))
	p.release()
	p.want(answer{"held", 111, nil}, answer{"too much", 1, nil}, answer{"withdraw", 0, errInsufficient})
	if got, version := view(t, other, "anna"); got != 1 || version != 3 {
		t.Errorf("the other shows %d at %d, want 1 at 3", got, version)
	}
}

func TestContentionEndsAfterTheAttempts(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	one := b.open(b.Journal(), accountType(), entity.Options{Attempts: 3})
	other := b.accounts()
	runs := 0
	_, err := one.Update(t.Context(), "anna", func(tx *accountTx) error {
		runs++
		do(t, other, "anna", deposit(1))
		tx.Record(Deposited{1})
		return nil
	})
	wantError(t, "Update", err, entity.ErrContended)
	wantError(t, "Update", err, dynajournal.ErrWriterConflict)
	if runs != 3 || dynajournal.MaybeApplied(err) {
		t.Errorf("%d runs, %v; want 3, and nothing applied", runs, err)
	}
}

// A response is lost: the command is done once, whether or not its events were stored the first
// time.
func TestLostWrite_OutcomeIsFound(t *testing.T) {
	t.Parallel()
	for name, done := range map[string]bool{"stored": true, "not stored": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPipeline(t, dynajournal.TableOptions{}, accountType(), nil)
			do(t, p.hosted, "anna", deposit(50))
			p.gate.lose(done)
			if got := do(t, p.hosted, "anna", withdraw(30)); got != 20 {
				t.Errorf("the result is %d, want 20", got)
			}
			if got, _ := view(t, p.hosted, "anna"); got != 20 {
				t.Errorf("the balance is %d, want 20", got)
			}
		})
	}
}

// A write is delayed, and arrives after its command was decided again and has returned another
// result. The write must not be stored.
func TestLostWrite_ArrivesLate(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, dynajournal.TableOptions{}, accountType(), nil)
	do(t, p.hosted, "anna", deposit(50))
	var late sender
	p.gate.at(func(r *httpRequest, send sender) (*httpResponse, error) {
		late = detached(r, p.gate.inner)
		return nil, errLost
	})
	runs := 0
	got, err := entity.Do(t.Context(), p.hosted, "anna", func(tx *accountTx) (int, error) {
		if runs++; runs > 1 {
			return tx.State().Balance, errInsufficient // the rule has changed meanwhile
		}
		return withdraw(30)(tx)
	})
	if wantError(t, "Do", err, errInsufficient); runs != 2 {
		t.Errorf("got %d after %d runs", got, runs)
	}
	response, err := late()
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if got := do(t, p.hosted, "anna", balance, entity.Fresh()); got != 50 {
		t.Errorf("the balance is %d, want 50: the late write counts", got)
	}
}

// If another process deletes the events of a lost write before the entity looks for them, the
// outcome stays unknown.
func TestLostWrite_EventsDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "c-1"} {
		t.Run("id "+id, func(t *testing.T) {
			t.Parallel()
			p := newPipeline(t, dynajournal.TableOptions{}, accountType(), nil)
			do(t, p.hosted, "anna", deposit(50))
			p.gate.at(func(_ *httpRequest, send sender) (*httpResponse, error) {
				response, err := send()
				if err != nil {
					return nil, err
				}
				_ = response.Body.Close()
				w, err := p.journal.Recover(context.Background(), "account|anna", dynajournal.RecoverOptions{}, nil)
				if err != nil {
					t.Error(err)
					return nil, errLost
				}
				if _, err := w.DeleteTo(context.Background(), 2); err != nil {
					t.Error(err)
				}
				return nil, errLost
			})
			var opts []entity.CommandOption
			if id != "" {
				opts = append(opts, entity.CommandID(id))
			}
			_, err := entity.Do(t.Context(), p.hosted, "anna", withdraw(30), opts...)
			wantError(t, "Do", err, entity.ErrOutcomeUnknown)
			if !dynajournal.MaybeApplied(err) {
				t.Errorf("%v does not say that it may be applied", err)
			}
		})
	}
}

func TestOneCommandIsDecidedAtATime(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	a, err := entity.Open(b.Journal(), accountType(), entity.Options{})
	if err != nil {
		t.Fatal(err)
	}
	do(t, a, "anna", deposit(1))
	entered, leave := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = a.Update(context.Background(), "anna", func(*accountTx) error {
			close(entered)
			<-leave
			return nil
		})
	})
	<-entered
	second := make(chan struct{})
	wg.Go(func() {
		_, _ = a.Update(context.Background(), "anna", func(*accountTx) error {
			close(second)
			return nil
		})
	})
	for waits := false; !waits; {
		waits = a.Stats().Waiting == 1 // the first does not wait
		do(t, a, "bob", deposit(1))    // another entity is independent
		select {
		case <-second:
			close(leave)
			t.Fatal("a second command is decided while the first is")
		default:
		}
	}
	close(leave)
	<-second
	wg.Wait()
	if err := a.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
