package systemtest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// For errors.Is, the error of an attempt behaves like the error of the operation. Request.Code is
// the service's error code.
func TestRequestError_AttemptMatchesOperation(t *testing.T) {
	t.Parallel()
	for effect, want := range map[embedded.Effect]struct {
		reason error
		code   string
	}{
		embedded.EffectThroughputExceeded: {dynajournal.ErrThrottled, "ProvisionedThroughputExceededException"},
		embedded.EffectThrottling:         {dynajournal.ErrThrottled, "ThrottlingException"},
		embedded.EffectAccessDenied:       {dynajournal.ErrDenied, "AccessDeniedException"},
		embedded.EffectInternalError:      {dynajournal.ErrUnavailable, "InternalServerError"},
		embedded.EffectReset:              {dynajournal.ErrUnavailable, ""},
	} {
		t.Run(string(effect), func(t *testing.T) {
			t.Parallel()
			engine := openEngine(t)
			var mu sync.Mutex
			var seen []dynajournal.Request
			config := dynajournal.Config{AWS: engine.AWSConfig(), Hooks: []dynajournal.Hook{{
				OnRequest: func(_ context.Context, r dynajournal.Request) {
					mu.Lock()
					defer mu.Unlock()
					seen = append(seen, r)
				},
			}}}
			createTables(t, config, dynajournal.TableOptions{})
			j := openJournal(t, config)
			if _, err := engine.Inject(embedded.Fault{Effect: effect, Times: 1}); err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			seen = nil
			mu.Unlock()
			_, _ = j.Bounds(t.Context(), "a")
			mu.Lock()
			defer mu.Unlock()
			if len(seen) == 0 || !errors.Is(seen[0].Err, want.reason) || seen[0].Code != want.code {
				t.Errorf("%+v, want %v, %q", seen, want.reason, want.code)
			}
			for _, r := range seen[min(1, len(seen)):] {
				if r.Err != nil || r.Code != "" {
					t.Errorf("after the fault: %+v", r)
				}
			}
		})
	}
}
