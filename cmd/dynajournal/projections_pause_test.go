package main

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dynajournal/dynajournal/projection"
)

func TestProjections_PauseAndContinue(t *testing.T) {
	p := newProjecting(t)
	must(t, p.at("append a --string x")...)
	var cured atomic.Bool
	cured.Store(true)
	p.run(&cured)
	handled := func(found []map[string]any) bool { return found[0]["lag_events"] == 0.0 }
	p.until("projections list", func(found []map[string]any) bool { return len(found) == 1 })
	p.until("projections lag --ids billing/balances", handled)

	if got := must(t, p.at("projections pause billing/balances")...); keys(got[0]) != "paused projection" || got[0]["paused"] != true {
		t.Errorf("%v", got)
	}
	listed := must(t, p.at("projections list")...)
	if got := keys(listed[0]); got != "kind paused_since processes projection resetting seen source" {
		t.Errorf("%v", listed)
	}
	shown := invoke(t.Context(), "", p.at("projections list --output text")...)
	if !strings.Contains(shown.out, "billing/balances: at-least-once, by streams, 1 processes, paused since 2") {
		t.Errorf("%+v", shown)
	}

	must(t, p.at("append a --string y")...)
	if got := must(t, p.at("projections continue billing/balances")...); keys(got[0]) != "paused projection" || got[0]["paused"] != false {
		t.Errorf("%v", got)
	}
	p.until("projections lag --ids billing/balances", handled)
	if got := must(t, p.at("projections list")...); got[0]["paused_since"] != nil {
		t.Errorf("%v", got)
	}

	o := invoke(t.Context(), "", p.at("projections pause billing/others")...)
	if o.status != statusFailed || !strings.Contains(o.err, projection.ErrNoProjection.Error()) {
		t.Errorf("%+v", o)
	}
}
