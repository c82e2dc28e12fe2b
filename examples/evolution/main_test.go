//go:build long

// Without the tag the program is compiled, but not run, because linking a test program for each
// example takes long.

package main

import (
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/entity/entitytest"
	"github.com/dynajournal/dynajournal/serialization"

	v1 "github.com/dynajournal/dynajournal/examples/evolution/v1"
	v2 "github.com/dynajournal/dynajournal/examples/evolution/v2"
	v3 "github.com/dynajournal/dynajournal/examples/evolution/v3"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	main()
	// Output:
	// customer|ada: loaded the snapshot at 3 and 0 events
	// customer|ada: loaded the snapshot at 6 and 0 events
	// ada is {First:Ada Last:Byron Language:en Home:{Street:3 Park Row City:Bath}}
	// customer|bob: loaded the snapshot at 0 and 2 events
	// bob is {First:Bob Last:Stone Language:en Home:{Street:2 Hill Road City:York}}
	// customer|eva: loaded the snapshot at 0 and 1 events
	// eva is {First:Eva Last:Lund Language:sv Home:{Street: City:}}
	// ada is {First:Ada Last:Lovelace Language:en Home:{Street:3 Park Row City:Bath}}
}

// open opens the customers of a version of the program, until the test ends.
func open[S, E any](
	t *testing.T, j *entitytest.Journal, registry func() (*serialization.Registry, error), kind entity.Type[S, E],
) *entity.Entities[S, E] {
	t.Helper()
	config := j.Config
	var err error
	if config.Serialization, err = registry(); err != nil {
		t.Fatal(err)
	}
	journal, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = journal.Close() })
	customers, err := entity.Open(journal, kind, entity.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = customers.Close(t.Context()) })
	return customers
}

// record returns a command that records events.
func record[S, E any](events ...E) func(*entity.Tx[S, E]) error {
	return func(tx *entity.Tx[S, E]) error {
		tx.Record(events...)
		return nil
	}
}

// While a new version is deployed, the old version is still running. It finds events that it does
// not know: its commands on these customers fail, and write nothing. So deploy the release that
// reads new events before the release that records them.
func TestOldVersionRefusesEventsThatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	j := entitytest.OpenJournal(t, nil)
	first, second, third := open(t, j, v1.Registry, v1.Type), open(t, j, v2.Registry, v2.Type), open(t, j, v3.Registry, v3.Type)
	if _, err := first.Update(t.Context(), "ada", record[v1.Customer, v1.Event](v1.Registered{Name: "Ada Byron"})); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Update(t.Context(), "ada", record[v2.Customer, v2.Event](v2.Moved{City: "Bath"})); err != nil {
		t.Fatal(err)
	}
	// The first has Ada in memory, finds its number taken, and reads a newer version of an event.
	_, err := first.Update(t.Context(), "ada", record[v1.Customer, v1.Event](v1.NewsletterSent{}))
	if failed, ok := errors.AsType[*serialization.DecodeError](err); !ok || failed.Manifest != "address-changed#2" {
		t.Errorf("the first version: %v", err)
	}
	if dynajournal.MaybeApplied(err) {
		t.Errorf("the first version may have written: %v", err)
	}
	if _, err := third.Update(t.Context(), "ada", record[v3.Customer, v3.Event](v3.Named{First: "Ada"})); err != nil {
		t.Fatal(err)
	}
	// The second also has Ada in memory, and finds an event whose name it does not know.
	_, err = second.View(t.Context(), "ada", func(v2.Customer) error { return nil })
	if !errors.Is(err, serialization.ErrUnknownSerializer) {
		t.Errorf("the second version: %v", err)
	}
	if _, err := second.Update(t.Context(), "bob", record[v2.Customer, v2.Event](v2.Moved{City: "York"})); err != nil {
		t.Errorf("the second version, another customer: %v", err)
	}
}

// An old version skips a snapshot of a newer version if the state is registered with a version.
func TestOldVersionLeavesOutNewerSnapshots(t *testing.T) {
	t.Parallel()
	j := entitytest.OpenJournal(t, nil)
	second := open(t, j, v2.Registry, v2.Type)
	sent := v2.NewsletterSent{}
	for range 3 {
		if _, err := second.Update(t.Context(), "ada", record[v2.Customer, v2.Event](sent)); err != nil {
			t.Fatal(err)
		}
	}
	if err := second.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s, ok, err := j.LoadSnapshot(t.Context(), "customer|ada", dynajournal.SnapshotCriteria{}); !ok || s.SerializerManifest != "customer#2" {
		t.Fatalf("the snapshot is %q, %v, %v", s.SerializerManifest, ok, err)
	}
	first := open(t, j, v1.Registry, v1.Type)
	version, err := first.View(t.Context(), "ada", func(c v1.Customer) error {
		if c != (v1.Customer{}) {
			return fmt.Errorf("the state is %+v", c)
		}
		return nil
	})
	if err != nil || version != 3 {
		t.Errorf("version %d, %v", version, err)
	}
}

// The third version has no upcaster for snapshots of the first.
func TestStateOfTheFirstVersionIsReplayed(t *testing.T) {
	t.Parallel()
	j := entitytest.OpenJournal(t, nil)
	first := open(t, j, v1.Registry, v1.Type)
	if _, err := first.Update(t.Context(), "ada", record[v1.Customer, v1.Event](v1.Registered{Name: "Ada Byron"},
		v1.AddressChanged{Address: "1 Mill Lane, Leeds"}, v1.NewsletterSent{})); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := v3.Customer{First: "Ada", Last: "Byron", Language: "en", Home: v3.Address{Street: "1 Mill Lane", City: "Leeds"}}
	version, err := open(t, j, v3.Registry, v3.Type).View(t.Context(), "ada", func(c v3.Customer) error {
		if c != want {
			return fmt.Errorf("the state is %+v", c)
		}
		return nil
	})
	if err != nil || version != 3 {
		t.Errorf("version %d, %v", version, err)
	}
}
