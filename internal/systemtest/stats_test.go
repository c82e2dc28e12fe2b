package systemtest

import (
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// All connections hang. The statistics show what each call waits for, and Ping also waits.
func TestStats_ConnectionsInUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const connections = 2
		n, ctx := openNarrow(t, connections), patient(t)
		idle := n.Stats()
		if idle.InFlight != 0 || idle.MaxInFlight != connections || idle.Waiting != 0 || idle.WaitingReads != 0 ||
			idle.GroupCommit != dynajournal.GroupCommitSharing {
			t.Errorf("an idle journal has %+v", idle)
		}

		release := n.block()
		var calls errgroup.Group
		for range connections + 3 {
			calls.Go(func() error {
				_, err := n.Bounds(ctx, "a") // a read
				return err
			})
		}
		for range 4 {
			calls.Go(func() error { return n.Ping(ctx) })
		}
		synctest.Wait()
		if s := n.Stats(); s.InFlight != connections || s.Waiting < 4 || s.WaitingReads != 3 {
			t.Errorf("with all connections in use there are %+v", s)
		}
		release()
		if err := calls.Wait(); err != nil {
			t.Error(err)
		}
		if s := n.Stats(); s.InFlight != 0 || s.Waiting != 0 || s.WaitingReads != 0 {
			t.Errorf("afterwards there are %+v", s)
		}
	})
}

func TestStats_ClockSkew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ahead = 90 * time.Second
		engine := openEngine(t, embedded.WithSweepInterval(0), embedded.WithClock(func() time.Time { return time.Now().Add(ahead) }))
		config := dynajournal.Config{AWS: engine.AWSConfig()}
		createTables(t, config, kinds["native"])
		j := openJournal(t, config)
		if s := j.Stats(); s.ClockSkew != ahead || !s.ClockReadAt.Equal(time.Now()) {
			t.Errorf("the statistics have %v at %v, want %v at %v", s.ClockSkew, s.ClockReadAt, ahead, time.Now())
		}
	})
}

func TestStats_GroupCommit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		mode   dynajournal.GroupCommit
		denied string
		want   dynajournal.GroupCommitState
	}{
		{"on", dynajournal.GroupCommitAuto, "", dynajournal.GroupCommitSharing},
		{"configured off", dynajournal.GroupCommitOff, "", dynajournal.GroupCommitDisabled},
		{"access denied", dynajournal.GroupCommitAuto, "access-denied,operation=BatchExecuteStatement", dynajournal.GroupCommitPaused},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				engine := openEngine(t, embedded.WithSweepInterval(0))
				config := dynajournal.Config{AWS: engine.AWSConfig(), GroupCommit: c.mode}
				createTables(t, config, kinds["native"])
				j := openJournal(t, config)
				if c.denied != "" {
					fault, err := embedded.ParseFault(c.denied)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := engine.Inject(fault); err != nil {
						t.Fatal(err)
					}
				}
				appendStrings(t, recoverWriter(t, j, "a", 0), 3, true)
				if s := j.Stats(); s.GroupCommit != c.want || s.Gathering != 0 {
					t.Errorf("the state is %v with %d events, want %v", s.GroupCommit, s.Gathering, c.want)
				}
			})
		})
	}
}

func TestPing_ReportsWhyTheTableCanNotBeRead(t *testing.T) {
	t.Parallel()
	engine := openEngine(t, embedded.WithSweepInterval(0))
	config := dynajournal.Config{AWS: engine.AWSConfig()}
	createTables(t, config, kinds["native"])
	j := openJournal(t, config)
	if err := j.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	fault, err := embedded.ParseFault("access-denied,operation=GetItem")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Inject(fault); err != nil {
		t.Fatal(err)
	}
	wantError(t, "Ping without a permission", j.Ping(t.Context()), dynajournal.ErrDenied)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	wantError(t, "Ping of a closed journal", j.Ping(t.Context()), dynajournal.ErrClosed)
}
