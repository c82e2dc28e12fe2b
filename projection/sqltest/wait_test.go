package sqltest_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/sqlprojection"
)

// The projection is stuck at an event. The events before it are handled after WaitFor has read the
// offset, and before it finds that the projection is stuck. WaitFor waits for them, and reports the
// offset at which the projection is stuck.
func TestWaitWhileAProjectionGetsStuck(t *testing.T) {
	t.Parallel()
	each(t, func(b *bundle) {
		b.write("a", "x", "y", "z")
		waits := func(number int64) (*gate, <-chan error) {
			read := newGate("group/effects")
			b.Cleanup(read.release)
			journal, ended := b.open(read.install), make(chan error, 1)
			go func() {
				ended <- sqlprojection.WaitFor(b.Context(), journal, b.db, b.dialect, "group/effects", "a", number)
			}()
			<-read.arrived // it has read the offset
			return read, ended
		}
		handled, handledEnded := waits(2)
		stuck, stuckEnded := waits(3)
		config := fast()
		config.Attempts = 1
		b.run(config, ledger{on: func(_ context.Context, _ *sql.Tx, e dynajournal.Event) error {
			if e.SequenceNumber == 3 {
				return errors.New("not this one")
			}
			return nil
		}})
		b.stuckness("a")
		handled.release()
		stuck.release()
		if err := <-handledEnded; err != nil {
			b.Errorf("WaitFor 2: %v", err)
		}
		err := <-stuckEnded
		if is, ok := errors.AsType[*projection.StuckError](err); !ok || is.Offset != 2 {
			b.Errorf("WaitFor 3: %v, want StuckError with offset 2", err)
		}
	})
}
