// Package private gives the module's own tests access to what the root package does not export.
package private

import "github.com/dynajournal/dynajournal/internal/clock"

// SetClock sets the clock of a *dynajournal.Config. The root package sets it.
var SetClock func(config any, c *clock.Clock)
