package entity_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
)

// A failure to save or delete after a write is reported, and retried when the next snapshot is due.
func TestSnapshot_FailureDoesNotAffectCommands(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]embedded.Fault{
		"the snapshot":                    {Operation: "PutItem", Table: "*snapshot*"},
		"the deletion of older snapshots": {Operation: "BatchWriteItem", Table: "*snapshot*"},
		"the deletion of events":          {Operation: "PutItem", Key: "*-SL-*"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, dynajournal.TableOptions{}, single)
			kind := accountType()
			kind.Snapshots = entity.Snapshots{Every: 2, Keep: 1, DeleteEvents: true}
			a, saved := saving(b, kind, entity.Options{})
			want := func(balance int, failure error) {
				t.Helper()
				for i := range 2 {
					if got := do(t, a, "anna", deposit(1)); got != balance+i-1 {
						t.Errorf("the balance is %d, want %d", got, balance+i-1)
					}
				}
				if s := <-saved; s.Version != int64(balance) {
					t.Errorf("%+v, want version %d", s, balance)
				} else {
					wantError(t, "the snapshot", s.Err, failure)
				}
			}
			want(2, nil)
			fault.Effect = embedded.EffectThrottling
			stop, err := b.Engine.Inject(fault)
			if err != nil {
				t.Fatal(err)
			}
			want(4, dynajournal.ErrThrottled)
			want(6, dynajournal.ErrThrottled)
			if got, version := view(t, b.open(b.Journal(), kind, entity.Options{}), "anna"); got != 6 || version != 6 {
				t.Errorf("the balance is %d at %d, want 6", got, version)
			}
			stop()
			want(8, nil)
			if got := snapshots(t, b.Journal()); !slices.Equal(got, []int64{8}) {
				t.Errorf("the snapshots are %v, want 8", got)
			}
			if bounds, err := b.Journal().Bounds(t.Context(), "account|anna"); err != nil || bounds.Lowest != 9 {
				t.Errorf("bounds %+v, %v; want 9 to be the lowest", bounds, err)
			}
		})
	}
}

// Evolve changes the state in place while a snapshot of it is being encoded. No command waits for
// the encoding.
func TestSnapshot_MutableStateDoesNotBlockCommands(t *testing.T) {
	t.Parallel()
	encoding, proceed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	b := setup(t, dynajournal.TableOptions{})
	register(t, b.Config.Serialization)
	items := serialization.Codec[*Basket]{
		SerializerID: 4711, Manifest: "basket",
		Encode: func(b *Basket) ([]byte, error) {
			once.Do(func() { close(encoding); <-proceed })
			return []byte{byte(b.Items["apple"]), byte(b.Items["pear"])}, nil
		},
		Decode: func(p []byte) (*Basket, error) {
			return &Basket{Items: map[string]int{"apple": int(p[0]), "pear": int(p[1])}}, nil
		},
	}
	if err := serialization.Custom(b.Config.Serialization, items); err != nil {
		t.Fatal(err)
	}
	copies := 0
	kind := basketType(&copies)
	kind.SnapshotWhen = func(_ *Basket, _ Put, version int64) bool { return version == 1 }
	j := b.Journal()
	hosted, err := entity.Open(j, kind, entity.Options{})
	if err != nil {
		t.Fatal(err)
	}
	put := func(item string) {
		t.Helper()
		if _, err := hosted.Update(t.Context(), "anna", func(tx *entity.Tx[*Basket, Put]) error {
			tx.Record(Put{item})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	put("apple")
	<-encoding
	for range 3 {
		put("pear")
	}
	close(proceed)
	if err := hosted.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	s, ok, err := j.LoadSnapshot(t.Context(), "basket|anna", dynajournal.SnapshotCriteria{})
	if err != nil || !ok || s.SequenceNumber != 1 {
		t.Fatalf("%+v, %v, %v; want a snapshot at 1", s, ok, err)
	}
	saved, err := dynajournal.DecodeState[*Basket](t.Context(), s)
	if want := map[string]int{"apple": 1, "pear": 0}; err != nil || !maps.Equal(saved.Items, want) {
		t.Errorf("the snapshot is %+v, %v; want %v", saved, err, want)
	}
}

// The snapshot takes 3 seconds.
func TestCloseWaitsForTheSnapshotThatIsBeingSaved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		patience, want time.Duration
		err            error
		snapshots      []int64
	}{
		"until it is saved":       {time.Minute, 3 * time.Second, nil, []int64{1}},
		"until its context's end": {time.Second, time.Second, context.DeadlineExceeded, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := setup(t, dynajournal.TableOptions{})
				kind := accountType()
				kind.Snapshots.Every = 1
				a, saved := saving(b, kind, entity.Options{})
				slow := embedded.Fault{Effect: embedded.EffectSlow, Delay: 3 * time.Second, Operation: "PutItem", Table: "*snapshot*"}
				if _, err := b.Engine.Inject(slow); err != nil {
					t.Fatal(err)
				}
				do(t, a, "anna", deposit(1))
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), c.patience)
				defer cancel()
				start := time.Now()
				err := a.Close(ctx)
				if took := time.Since(start); took != c.want {
					t.Errorf("Close took %v, want %v", took, c.want)
				}
				wantError(t, "Close", err, c.err)
				if s := <-saved; (s.Err == nil) != (err == nil) {
					t.Errorf("Close: %v; a hook got %v", err, s.Err)
				}
				if got := snapshots(t, b.Journal()); !slices.Equal(got, c.snapshots) {
					t.Errorf("the snapshots are %v, want %v", got, c.snapshots)
				}
			})
		})
	}
}
