package projection_test

import (
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/projection"
)

// A process that is started during an outage runs when the outage is over.
func TestRun_StartsDuringOutage(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	b.write("a", "x")
	j := b.Journal(func(c *dynajournal.Config) { c.Retries = -1 })
	for _, effect := range []embedded.Effect{embedded.EffectThrottling, embedded.EffectUnavailable} {
		if _, err := b.Engine.Inject(embedded.Fault{Effect: effect, Operation: "DescribeTable", Times: 3}); err != nil {
			t.Fatal(err)
		}
	}
	start(t, group(t, j, b.streamed(), projection.AtLeastOnce("all", &recorder{})))
	b.await("group/all", "a", 1)
}
