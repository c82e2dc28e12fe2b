package dynamo_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// operations returns the operations of a script's attempts.
func operations(s *script) string {
	var all []string
	for _, attempt := range s.attempts() {
		_, name, _ := strings.Cut(attempt.header.Get("X-Amz-Target"), ".")
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

var (
	inUse     = refuse(400, "ResourceInUseException")
	invalid   = refuse(400, "ValidationException")
	notFound  = refuse(400, "ResourceNotFoundException")
	bare      = ok(`{"Table":{"TableName":"events","TableStatus":"ACTIVE"}}`)
	expiring  = ok(`{"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLING","AttributeName":"expires"}}`)
	unlimited = ok(`{"TimeToLiveDescription":{"TimeToLiveStatus":"DISABLED"}}`)
)

// repeat returns n equal steps.
func repeat(n int, s step) []step {
	var all []step
	for range n {
		all = append(all, s)
	}
	return all
}

func TestCreateTable_WhileTheOldOneIsDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(inUse, described("DELETING", "DELETING"), described("DELETING", "DELETING"), notFound, ok(`{}`), described("ACTIVE", "ACTIVE"))
		made, err := create(t.Context(), client(t, s))
		const want = "CreateTable DescribeTable DescribeTable DescribeTable CreateTable DescribeTable"
		if got := operations(s); err != nil || !made || got != want {
			t.Errorf("made %v after %s: %v", made, got, err)
		}
	})
}

func TestCreateTable_DeletionWithoutEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(inUse, described("DELETING", "DELETING"))
		start := time.Now()
		_, err := create(t.Context(), client(t, s))
		if took := time.Since(start); !errors.Is(err, dynamo.ErrInvalidRequest) || !strings.Contains(err.Error(), "still being deleted after 10m0s") ||
			took < 10*time.Minute || took > 11*time.Minute {
			t.Errorf("after %v: %v", took, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = create(ctx, client(t, newScript(inUse, described("DELETING", "DELETING"))))
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `table "events", which is being deleted`) {
			t.Errorf("with a limit of a minute: %v", err)
		}
	})
}

// Another caller has created the table, which is not described yet, or was deleted meanwhile.
func TestCreateTable_OfAnotherCallerIsSentAgainUntilItIsDescribed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(inUse, notFound, inUse, notFound, inUse, described("ACTIVE", "ACTIVE"))
		if made, err := create(t.Context(), client(t, s)); err != nil || made || len(s.attempts()) != 6 {
			t.Errorf("made %v after %s: %v", made, operations(s), err)
		}
		s = newScript(inUse, notFound, ok(`{}`), described("ACTIVE", "ACTIVE"))
		if made, err := create(t.Context(), client(t, s)); err != nil || !made || len(s.attempts()) != 4 {
			t.Errorf("made %v after %s: %v", made, operations(s), err)
		}
	})
}

// A table with the name was deleted, and is still described.
func TestCreateTable_IsNotTheOldOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		of := func(id string) step {
			return ok(`{"Table":{"TableName":"events","TableStatus":"ACTIVE","TableId":"` + id + `"}}`)
		}
		s := newScript(ok(`{"TableDescription":{"TableId":"new"}}`), of("old"), notFound, of("old"), of("new"))
		if made, err := create(t.Context(), client(t, s)); err != nil || !made || len(s.attempts()) != 5 {
			t.Errorf("made %v after %s: %v", made, operations(s), err)
		}
	})
}

func TestUpdateTable_WaitsUntilTheChangeIsDescribed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(ok(`{}`), notFound, bare, bare, described("UPDATING", "CREATING"), described("ACTIVE", "ACTIVE"))
		if changed, err := update(t.Context(), client(t, s)); err != nil || !changed || len(s.attempts()) != 6 {
			t.Errorf("changed %v after %s: %v", changed, operations(s), err)
		}
	})
}

func TestUpdateTable_InUseIsSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limited := refuse(400, "LimitExceededException")
		steps := append([]step{inUse, bare, limited}, repeat(3, limited)...) // with the retries
		steps = append(steps, bare, ok(`{}`), bare, described("ACTIVE", "ACTIVE"))
		s := newScript(steps...)
		if changed, err := update(t.Context(), client(t, s)); err != nil || !changed || len(s.attempts()) != len(steps) {
			t.Errorf("changed %v after %s: %v", changed, operations(s), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var busy []step
		for range 200 {
			busy = append(busy, inUse, bare)
		}
		_, err := update(ctx, client(t, newScript(busy...)))
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `table "events"`) {
			t.Errorf("in use for a minute: %v", err)
		}
	})
}

// The request is refused because another caller has just made the same change.
func TestUpdateTable_OfAnotherCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, refused := range []step{invalid, inUse} {
			s := newScript(refused, described("UPDATING", "CREATING"), described("ACTIVE", "ACTIVE"))
			if changed, err := update(t.Context(), client(t, s)); err != nil || changed || len(s.attempts()) != 3 {
				t.Errorf("changed %v after %s: %v", changed, operations(s), err)
			}
		}
		s := newScript(invalid, bare, bare, bare, described("ACTIVE", "ACTIVE"))
		if changed, err := update(t.Context(), client(t, s)); err != nil || changed || len(s.attempts()) != 5 {
			t.Errorf("changed %v after %s: %v", changed, operations(s), err)
		}
	})
}

// The response is lost, so the next attempt is refused.
func TestUpdateTable_LostResponse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(reset, invalid, described("ACTIVE", "ACTIVE"))
		if changed, err := update(t.Context(), client(t, s)); err != nil || !changed || len(s.attempts()) != 3 {
			t.Errorf("changed %v after %s: %v", changed, operations(s), err)
		}
	})
}

func TestUpdateTable_Refused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := update(t.Context(), client(t, newScript(invalid, bare)))
		if took := time.Since(start); !errors.Is(err, dynamo.ErrInvalidRequest) || took < dynamo.DescriptionLag || took > 2*dynamo.DescriptionLag {
			t.Errorf("after %v: %v", took, err)
		}
	})
	s := newScript(refuse(400, "AccessDeniedException"))
	if _, err := update(t.Context(), client(t, s)); !errors.Is(err, dynamo.ErrDenied) || len(s.attempts()) != 1 {
		t.Errorf("denied: %v after %s", err, operations(s))
	}
}

func TestEnableTTL_Races(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps   []step
		enabled bool
	}{
		"it is on":                        {[]step{expiring}, false},
		"in use":                          {[]step{unlimited, inUse, unlimited, ok(`{}`)}, true},
		"not described yet":               {[]step{notFound, unlimited, ok(`{}`)}, true},
		"another caller":                  {[]step{unlimited, invalid, expiring}, false},
		"another caller, not shown yet":   {[]step{unlimited, invalid, unlimited, unlimited, expiring}, false},
		"another caller, and it was busy": {[]step{unlimited, inUse, expiring}, false},
		"a lost response":                 {[]step{unlimited, reset, invalid, expiring}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScript(c.steps...)
				enabled, err := client(t, s).EnableTTL(t.Context(), table, "expires")
				if err != nil || enabled != c.enabled || len(s.attempts()) != len(c.steps) {
					t.Errorf("enabled %v after %s: %v", enabled, operations(s), err)
				}
			})
		})
	}
}

// A second change within an hour is refused.
func TestEnableTTL_WasJustSwitchedOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(unlimited, invalid, unlimited)
		enabled, err := client(t, s).EnableTTL(t.Context(), table, "expires")
		if enabled || !errors.Is(err, dynamo.ErrInvalidRequest) || !strings.Contains(err.Error(), "within the last hour, call again later") {
			t.Errorf("%v, %v", enabled, err)
		}
	})
}
