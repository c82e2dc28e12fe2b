package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/internal/testsize"
)

func TestProjectionsEstimate(t *testing.T) {
	testsize.NoRace(t, "it does one thing after the other")
	clean(t)
	for i := range 3 {
		must(t, "append", fmt.Sprint("order-", i), "--string", "x", "--string", "y")
	}
	must(t, "append", "cart-1", "--string", "x")
	r := must(t, "projections", "estimate", "--per-second", "4", "--output", "json")[0]
	for key, want := range map[string]any{
		"ids": 4.0, "sampled": 4.0, "events": 7.0, "events_margin": 0.0, "write_units": 8.0, "write_units_margin": 0.0,
		"least_ms": 1000.0,
	} {
		if r[key] != want {
			t.Errorf("%s: %v, want %v", key, r[key], want)
		}
	}
	r = must(t, "projections", "estimate", "--prefix", "order-", "--transactional", "--batch-size", "1", "--per-second", "-1")[0]
	if r["ids"] != 3.0 || r["events"] != 6.0 || r["write_units"] != 12.0 || r["least_ms"] != 0.0 {
		t.Errorf("%v", r)
	}
	o := invoke(t.Context(), "", "projections", "estimate", "--sample", "2", "--output", "text")
	if o.status != statusDone || !strings.HasPrefix(o.out, "4 persistence ids\n") ||
		!strings.Contains(o.out, "at least 40ms\nestimated from a sample of 2 persistence ids, for ") {
		t.Errorf("%+v", o)
	}
	for args, text := range map[string]string{
		"--sample 0": "must be at least 1", "--batch-size 0": "must be at least 1",
		"--sample 100001": "from 1 to 100000", "--prefix=": "it is empty",
	} {
		o := invoke(t.Context(), "", append([]string{"projections", "estimate"}, strings.Fields(args)...)...)
		if o.status != statusUsage || !strings.Contains(o.err, text) {
			t.Errorf("%s: %+v", args, o)
		}
	}
}
