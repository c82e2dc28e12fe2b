package dynajournal

import (
	"fmt"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/private"
)

func init() { //nolint:gochecknoinits // internal/private needs it before a test does anything
	private.SetClock = func(config any, c *clock.Clock) {
		own, ok := config.(*Config)
		if !ok {
			panic(fmt.Sprintf("the clock of %T can't be set", config))
		}
		own.clock = c
	}
}
