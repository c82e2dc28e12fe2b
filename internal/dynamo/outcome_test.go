package dynamo_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

func TestMaybeApplied_OnlyAfterLostResponse(t *testing.T) {
	for name, f := range failures {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if err := put(t, client(t, newScript(f.fail), shortly)); dynamo.MaybeApplied(err) != f.ambiguous {
					t.Errorf("MaybeApplied is %v, want %v: %v", !f.ambiguous, f.ambiguous, err)
				}
			})
		})
	}
}

func TestMaybeApplied_AfterLostResponseAndFurtherAttempts(t *testing.T) {
	condition := refuse(400, "ConditionalCheckFailedException")
	for name, c := range map[string]struct {
		steps []step
		want  bool
	}{
		"lost, then its own item":         {[]step{reset, condition}, true},
		"lost, then throttled":            {[]step{reset, throttle()}, true},
		"lost, then invalid":              {[]step{internalError(), refuse(400, "ValidationException")}, true},
		"lost, then denied":               {[]step{internalError(), refuse(400, "AccessDeniedException")}, true},
		"lost, then no connection":        {[]step{hang, noConnection}, true},
		"throttled, then a foreign item":  {[]step{throttle(), condition}, false},
		"no connection, then throttled":   {[]step{noConnection, throttle()}, false},
		"no connection, then a condition": {[]step{noConnection, condition}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if err := put(t, client(t, newScript(c.steps...))); err == nil || dynamo.MaybeApplied(err) != c.want {
					t.Errorf("MaybeApplied is %v, want %v: %v", !c.want, c.want, err)
				}
			})
		})
	}
}

func TestReadIsNeverApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if _, err := get(t, client(t, newScript(reset))); err == nil || dynamo.MaybeApplied(err) {
			t.Errorf("error %v", err)
		}
	})
}

func TestContextThatEndsBeforeTheRequestSendsNothing(t *testing.T) {
	s := newScript(ok(`{}`))
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	cancel(why)
	err := client(t, s).Put(ctx, &dynamo.Meter{}, dynamo.Put{Table: table, Item: key(1)})
	if !errors.Is(err, why) || dynamo.MaybeApplied(err) || len(s.attempts()) != 0 {
		t.Errorf("%d attempts, error %v", len(s.attempts()), err)
	}
}

func TestContextThatEndsAtTheRequestLeavesItUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(hang)
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("why")
		done := make(chan error)
		c := client(t, s)
		go func() { done <- c.Put(ctx, &dynamo.Meter{}, dynamo.Put{Table: table, Item: key(1)}) }()
		synctest.Wait() // the request hangs
		cancel(why)
		if err := <-done; !errors.Is(err, why) || !dynamo.MaybeApplied(err) || len(s.attempts()) != 1 {
			t.Errorf("%d attempts, error %v", len(s.attempts()), err)
		}
	})
}

func TestContextThatEndsBetweenAttemptsKeepsTheOutcomeOfTheFirst(t *testing.T) {
	for name, c := range map[string]struct {
		fail step
		want bool
	}{"a lost response": {reset, true}, "a refusal": {throttle(), false}} {
		t.Run(name, func(t *testing.T) {
			why := errors.New("why")
			ctx, cancel := context.WithCancelCause(t.Context())
			s := newScript(c.fail)
			// The observer is called after the attempt and before the pause.
			watch := func(o *dynamo.Options) { o.Observe = func(context.Context, dynamo.Attempt) { cancel(why) } }
			err := client(t, s, watch).Put(ctx, &dynamo.Meter{}, dynamo.Put{Table: table, Item: key(1)})
			if !errors.Is(err, why) || dynamo.MaybeApplied(err) != c.want || len(s.attempts()) != 1 {
				t.Errorf("%d attempts, error %v", len(s.attempts()), err)
			}
		})
	}
}
