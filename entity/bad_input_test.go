package entity_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
)

func TestOpen_InvalidTypeOrOptions(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	native := b.Journal()
	plain := b.Journal(func(c *dynajournal.Config) { c.EventMetadata = dynajournal.EventMetadataOff })
	tags := func(Event) []string { return nil }
	for name, c := range map[string]struct {
		journal *dynajournal.Journal
		kind    func(*kind)
		options entity.Options
		want    string
	}{
		"no journal":              {nil, nil, entity.Options{}, "journal"},
		"no name":                 {native, func(k *kind) { k.Name = "" }, entity.Options{}, "Type.Name"},
		"a bar in the name":       {native, func(k *kind) { k.Name = "a|b" }, entity.Options{}, "Type.Name"},
		"no Evolve":               {native, func(k *kind) { k.Evolve = nil }, entity.Options{}, "Type.Evolve"},
		"negative Every":          {native, func(k *kind) { k.Snapshots.Every = -1 }, entity.Options{}, "Snapshots.Every"},
		"negative Keep":           {native, func(k *kind) { k.Snapshots.Keep = -1 }, entity.Options{}, "Snapshots.Keep"},
		"tags without metadata":   {plain, func(k *kind) { k.Tags = tags }, entity.Options{}, "metadata"},
		"negative attempts":       {native, nil, entity.Options{Attempts: -1}, "Options.Attempts"},
		"too many ids":            {native, nil, entity.Options{CommandIDs: entity.CommandIDs{Most: 1 << 30}}, "CommandIDs.Most"},
		"fewer ids than the last": {native, nil, entity.Options{CommandIDs: entity.CommandIDs{Last: 5, Most: 4}}, "CommandIDs.Most"},
		"a negative timeout":      {native, nil, entity.Options{RecoveryTimeout: -1}, "Options.RecoveryTimeout"},
		"a negative period":       {native, nil, entity.Options{CommandIDs: entity.CommandIDs{Period: -1}}, "CommandIDs.Period"},
		"an unknown mode":         {native, nil, entity.Options{Join: entity.Join{Mode: 7}}, "Join.Mode"},
		"negative entities":       {native, nil, entity.Options{MaxEntities: -1}, "Options.MaxEntities"},
		"negative recoveries":     {native, nil, entity.Options{MaxRecoveries: -1}, "Options.MaxRecoveries"},
		"negative waiting":        {native, nil, entity.Options{MaxWaiting: -1}, "Options.MaxWaiting"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind := accountType()
			if c.kind != nil {
				c.kind(&kind)
			}
			_, err := entity.Open(c.journal, kind, c.options)
			if wantError(t, "Open", err, dynajournal.ErrInvalidArgument); err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v does not name %s", err, c.want)
			}
		})
	}
}

func TestUpdate_InvalidArguments(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	a := b.accounts()
	plain := b.open(b.Journal(func(c *dynajournal.Config) { c.EventMetadata = dynajournal.EventMetadataOff }), accountType(), entity.Options{})
	none := func(*accountTx) error {
		t.Error("the command is run")
		return nil
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		call func() error
		want error
	}{
		"no command": {func() error { _, err := a.Update(t.Context(), "anna", nil); return err }, dynajournal.ErrInvalidArgument},
		"no id":      {func() error { _, err := a.Update(t.Context(), "", none); return err }, dynajournal.ErrInvalidArgument},
		"a bar":      {func() error { _, err := a.Update(t.Context(), "a|b", none); return err }, dynajournal.ErrInvalidArgument},
		"no text":    {func() error { _, err := a.Update(t.Context(), "\xff", none); return err }, dynajournal.ErrInvalidArgument},
		"a long id": {func() error {
			_, err := a.Update(t.Context(), strings.Repeat("x", 3000), none)
			return err
		}, dynajournal.ErrInvalidArgument},
		"an id to purge": {func() error { return a.Purge(t.Context(), "") }, dynajournal.ErrInvalidArgument},
		"an id to drop":  {func() error { return a.Drop(t.Context(), "") }, dynajournal.ErrInvalidArgument},
		"no view":        {func() error { _, err := a.View(t.Context(), "anna", nil); return err }, dynajournal.ErrInvalidArgument},
		"an id to view": {func() error {
			_, err := a.View(t.Context(), "\xff", func(Account) error { return nil })
			return err
		}, dynajournal.ErrInvalidArgument},
		"a negative version": {func() error {
			_, err := a.Update(t.Context(), "anna", none, entity.At(-1))
			return err
		}, dynajournal.ErrInvalidArgument},
		"another version": {func() error {
			_, err := a.Update(t.Context(), "anna", none, entity.At(3))
			return err
		}, entity.ErrVersion},
		"a long command id": {func() error {
			_, err := a.Update(t.Context(), "anna", none, entity.CommandID(strings.Repeat("x", 1001)))
			return err
		}, dynajournal.ErrInvalidArgument},
		"a command id without metadata": {func() error {
			_, err := plain.Update(t.Context(), "anna", none, entity.CommandID("c"))
			return err
		}, dynajournal.ErrInvalidArgument},
		"a context that has ended": {func() error {
			_, err := a.Update(ended, "anna", none)
			return err
		}, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.call()
			if wantError(t, "the call", err, c.want); dynajournal.MaybeApplied(err) {
				t.Errorf("%v says that it may be applied", err)
			}
		})
	}
	if s := a.Stats(); s.Events != 0 || s.Waiting != 0 {
		t.Errorf("%+v, want nothing written and none to wait", s)
	}
}

type unknown struct{}

func (unknown) event() {}

// A failure in a function of the program fails only the command that called it. Nothing is half
// done, and the entity continues.
func TestUpdate_FailureInTheProgram(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	kind := accountType()
	kind.Evolve = func(a Account, e Event) Account {
		if e == (Deposited{13}) {
			panic(broken)
		}
		return evolve(a, e)
	}
	kind.Tags = func(e Event) []string {
		if e == (Deposited{14}) {
			panic("no tags")
		}
		return nil
	}
	kind.SnapshotWhen = func(_ Account, e Event, _ int64) bool {
		if e == (Deposited{15}) {
			panic("no snapshot")
		}
		return false
	}
	b := setup(t, dynajournal.TableOptions{}, func(c *dynajournal.Config) { c.MaxBatchEvents, c.MaxItemSize = 5, 4000 })
	a := b.open(b.Journal(), kind, entity.Options{Metadata: func(ctx context.Context) map[string]string {
		metadata, _ := ctx.Value(metadataKey{}).(map[string]string)
		if metadata["panic"] != "" {
			panic("no metadata")
		}
		return metadata
	}})
	record := func(events ...Event) func(*accountTx) error {
		return func(tx *accountTx) error {
			tx.Record(Deposited{1})
			tx.Record(events...)
			return nil
		}
	}
	with := func(metadata map[string]string) context.Context {
		return context.WithValue(t.Context(), metadataKey{}, metadata)
	}
	for name, c := range map[string]struct {
		ctx     context.Context
		command func(*accountTx) error
		want    error
	}{
		"the command panics":          {t.Context(), func(tx *accountTx) error { tx.Record(Deposited{1}); panic(broken) }, broken},
		"the command panics with nil": {t.Context(), func(*accountTx) error { panic(nil) }, entity.ErrPanic}, //nolint:govet // what is tested
		"Evolve panics":               {t.Context(), record(Deposited{13}), broken},
		"Evolve panics, and it is kept": {t.Context(), func(tx *accountTx) error {
			func() {
				defer func() { _ = recover() }()
				tx.Record(Deposited{13})
			}()
			tx.Record(Deposited{1})
			return nil
		}, entity.ErrPanic},
		"Tags panics":                   {t.Context(), record(Deposited{14}), entity.ErrPanic},
		"SnapshotWhen panics":           {t.Context(), record(Deposited{15}), entity.ErrPanic},
		"Metadata panics":               {with(map[string]string{"panic": "yes"}), record(), entity.ErrPanic},
		"metadata that can't be":        {with(map[string]string{"dj.x": "y"}), record(), dynajournal.ErrRejected},
		"too much metadata":             {with(map[string]string{"x": strings.Repeat("y", 3000)}), record(), dynajournal.ErrRejected},
		"an event without a serializer": {t.Context(), record(unknown{}), dynajournal.ErrRejected},
		"no event":                      {t.Context(), record(nil), dynajournal.ErrRejected},
		"too many events":               {t.Context(), record(slices.Repeat([]Event{Deposited{1}}, 9)...), dynajournal.ErrRejected},
		"an error after events":         {t.Context(), func(tx *accountTx) error { tx.Record(Deposited{1}); return broken }, broken},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := a.Update(c.ctx, name, c.command)
			if wantError(t, "Update", err, c.want); dynajournal.MaybeApplied(err) {
				t.Errorf("%v says that it may be applied", err)
			}
			if got := do(t, a, name, deposit(2)); got != 2 {
				t.Errorf("the balance is %d, want 2", got)
			}
		})
	}
}

type metadataKey struct{}

// A panic of a command sends back the commands that were decided on the state that it may have
// changed.
func TestPanic_WriteInFlightSucceeds(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, dynajournal.TableOptions{}, accountType(), nil)
	p.block()
	p.start("behind", deposit(1))
	_, err := p.hosted.Update(t.Context(), "anna", func(*accountTx) error { panic("broken") })
	wantError(t, "Update", err, entity.ErrPanic)
	p.send("after", withdraw(101))
	p.release()
	p.want(answer{"held", 100, nil}, answer{"behind", 101, nil}, answer{"after", 0, nil})
}

// A command whose goroutine exits, for example by FailNow of a test, gives the turn back.
func TestUpdate_CommandExitsGoroutine(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	a := b.accounts()
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = a.Update(t.Context(), "anna", func(tx *accountTx) error {
			tx.Record(Deposited{1})
			runtime.Goexit()
			return nil
		})
	})
	wg.Wait()
	if got := do(t, a, "anna", deposit(2)); got != 2 {
		t.Errorf("the balance is %d, want 2", got)
	}
	if s := a.Stats(); s.Waiting != 0 {
		t.Errorf("%+v, want none to wait", s)
	}
}

// The error for a stored event that the program can't apply names the event. The next call tries
// again.
func TestLoad_EventThatCantBeApplied(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	do(t, b.accounts(), "anna", deposit(5))
	registry := serialization.NewRegistry()
	if err := serialization.JSON[Withdrawn](registry, "withdrawn"); err != nil {
		t.Fatal(err)
	}
	foreign := serialization.NewRegistry()
	if err := serialization.JSON[metadataKey](foreign, "deposited"); err != nil {
		t.Fatal(err)
	}
	panics, exits := accountType(), accountType()
	panics.Evolve = func(Account, Event) Account { panic("an event that it does not know") }
	exits.Evolve = func(Account, Event) Account { runtime.Goexit(); return Account{} }
	upcasts := accountType()
	upcasts.Upcasters = map[string]func(serialization.Payload) ([]Event, error){
		"deposited": func(serialization.Payload) ([]Event, error) { return nil, errInsufficient },
	}
	for name, c := range map[string]struct {
		kind     kind
		registry *serialization.Registry
		want     error
	}{
		"no decoder":             {accountType(), registry, serialization.ErrUnknownSerializer},
		"another type":           {accountType(), foreign, nil},
		"Evolve panics":          {panics, b.Config.Serialization, entity.ErrPanic},
		"Evolve exits":           {exits, b.Config.Serialization, nil},
		"an upcaster that fails": {upcasts, b.Config.Serialization, errInsufficient},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := b.open(b.Journal(func(cfg *dynajournal.Config) { cfg.Serialization = c.registry }), c.kind, entity.Options{})
			for range 2 {
				_, err := entity.Do(t.Context(), a, "anna", balance)
				if err == nil || c.want != nil && !errors.Is(err, c.want) {
					t.Errorf("Do: %v, want %v", err, c.want)
				}
				if dynajournal.MaybeApplied(err) {
					t.Errorf("%v says that it may be applied", err)
				}
				if _, err := a.View(t.Context(), "anna", func(Account) error { return nil }); err == nil {
					t.Error("View shows a state")
				}
			}
		})
	}
}

func TestCommandThatCallsItsEntitiesIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	a := b.accounts()
	for name, call := range map[string]func() error{
		"Update": func() error {
			_, err := a.Update(t.Context(), "anna", func(*accountTx) error { return nil })
			return err
		},
		"Purge": func() error { return a.Purge(t.Context(), "anna") },
		"Drop":  func() error { return a.Drop(t.Context(), "anna") },
		"Close": func() error { return a.Close(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			_, err := a.Update(t.Context(), "anna", func(*accountTx) error { return call() })
			wantError(t, "the inner call", err, entity.ErrReentrant)
		})
	}
	if got := do(t, a, "anna", deposit(1)); got != 1 {
		t.Errorf("the balance is %d, want 1", got)
	}
}

func TestQueueOfABusyEntityIsLimited(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	a := b.open(b.Journal(), accountType(), entity.Options{MaxWaiting: 2})
	entered, leave := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := a.Update(t.Context(), "anna", func(*accountTx) error { close(entered); <-leave; return nil })
		if err != nil {
			t.Error(err)
		}
	})
	<-entered
	busy := make(chan error, 5)
	for range 5 {
		wg.Go(func() {
			_, err := entity.Do(t.Context(), a, "anna", deposit(1))
			busy <- err
		})
	}
	for range 3 {
		wantError(t, "Do", <-busy, entity.ErrBusy)
	}
	close(leave)
	wg.Wait()
	if got := do(t, a, "anna", balance); got != 2 {
		t.Errorf("the balance is %d, want 2", got)
	}
}

func TestClosedJournalIsAnError(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	j := b.Journal()
	a := b.open(j, accountType(), entity.Options{})
	do(t, a, "anna", deposit(1))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"anna", "bob"} {
		_, err := entity.Do(t.Context(), a, id, deposit(1))
		wantError(t, "Do", err, dynajournal.ErrClosed)
		_, err = a.View(t.Context(), id, func(Account) error { return nil })
		wantError(t, "View", err, dynajournal.ErrClosed)
	}
}

func TestTx_UsedAfterItsCommand(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	var saved *accountTx
	if _, err := b.accounts().Update(t.Context(), "anna", func(tx *accountTx) error { saved = tx; return nil }); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("Record after the command has returned does not panic")
		}
	}()
	saved.Record(Deposited{1})
}

// Now is the time of the events, and never goes back.
func TestNowIsTheTimeOfTheEvents(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	a := b.accounts()
	var times []time.Time
	for range 5 {
		if _, err := a.Update(t.Context(), "anna", func(tx *accountTx) error {
			times = append(times, tx.Now())
			tx.Record(Deposited{1})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for e, err := range b.Journal().Events(t.Context(), "account|anna", dynajournal.Range{}) {
		if want := times[e.SequenceNumber-1]; err != nil || !e.Time.Equal(want) {
			t.Errorf("event %d has the time %v, %v; want %v", e.SequenceNumber, e.Time, err, want)
		}
	}
}

// A state that a command may have changed before it panicked is not used.
func TestPanic_StateIsReloaded(t *testing.T) {
	t.Parallel()
	copies := 0
	b := setup(t, dynajournal.TableOptions{})
	register(t, b.Config.Serialization)
	hosted, err := entity.Open(b.Journal(), basketType(&copies), entity.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hosted.Close(context.Background()) })
	_, err = hosted.Update(t.Context(), "anna", func(tx *entity.Tx[*Basket, Put]) error {
		tx.State().Items["stolen"]++ // a bug of the program
		panic("broken")
	})
	wantError(t, "Update", err, entity.ErrPanic)
	if _, err := hosted.View(t.Context(), "anna", func(b *Basket) error {
		if len(b.Items) > 0 {
			t.Errorf("the state is %v, want nothing", b.Items)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}
