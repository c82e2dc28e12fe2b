package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
	"github.com/dynajournal/dynajournal/projection/outbox"
)

// projecting is a served journal with a group of projections.
type projecting struct {
	*testing.T

	url     string
	engine  *embedded.Engine
	journal *dynajournal.Journal
}

func newProjecting(t *testing.T) *projecting {
	t.Helper()
	clean(t)
	engine, err := embedded.OpenMemory(embedded.WithSweepInterval(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	server := httptest.NewServer(engine)
	t.Cleanup(server.Close)
	p := &projecting{T: t, url: server.URL, engine: engine}
	must(t, p.at("tables create --projections --stream")...)
	p.journal, err = dynajournal.Open(t.Context(), dynajournal.Config{AWS: engine.AWSConfig()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.journal.Close() })
	return p
}

// at returns a command line for the journal.
func (p *projecting) at(args string) []string {
	return append(strings.Fields(args), "--endpoint", p.url)
}

// run runs a group whose handler fails at the second event of each id until it is cured.
func (p *projecting) run(cured *atomic.Bool) (stop func()) {
	p.Helper()
	client := dynamodbstreams.NewFromConfig(p.engine.AWSConfig())
	group, err := projection.New(p.journal, projection.Config{
		Name: "billing", Attempts: 1, StuckAfter: -1, ClaimTimeout: 300 * time.Millisecond,
		Source: projection.Streams(client, projection.StreamsOptions{
			LeaseTimeout: 300 * time.Millisecond, Poll: time.Millisecond,
		}),
	}, projection.AtLeastOnce("balances", projection.HandlerFunc(func(_ context.Context, e dynajournal.Event) error {
		if e.SequenceNumber == 2 && !cured.Load() {
			return errors.New("no such account")
		}
		return nil
	})))
	if err != nil {
		p.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- group.Run(ctx) }()
	var stopped atomic.Bool
	stop = func() {
		cancel()
		if stopped.CompareAndSwap(false, true) {
			if err := <-ended; err != nil {
				p.Error(err)
			}
		}
	}
	p.Cleanup(stop)
	return stop
}

// until repeats a command until its results are as expected.
func (p *projecting) until(args string, done func([]map[string]any) bool) []map[string]any {
	p.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		found := must(p.T, p.at(args)...)
		if done(found) {
			return found
		}
		if time.Now().After(deadline) {
			p.Fatalf("%s: %v", args, found)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestProjections_StuckRetryAndSkip(t *testing.T) {
	p := newProjecting(t)
	must(t, p.at("append a --string x --string y --string z")...)
	must(t, p.at("append b --string x")...)
	var cured atomic.Bool
	stop := p.run(&cured)
	one := func(found []map[string]any) bool { return len(found) == 1 }
	stuck := p.until("projections stuck", one)
	if got := keys(stuck[0]); got != "error persistence_id projection sequence_nr" || stuck[0]["sequence_nr"] != 2.0 ||
		!strings.Contains(stuck[0]["error"].(string), "no such account") {
		t.Errorf("%v", stuck)
	}
	listed := must(t, p.at("projections list")...)
	if got := keys(listed[0]); len(listed) != 1 || got != "kind processes projection resetting seen source" ||
		listed[0]["processes"] != 1.0 {
		t.Errorf("%v", listed)
	}
	read := p.until("projections lag", func(found []map[string]any) bool { return found[0]["lag_ms"] != nil && found[0]["sweep_owed"] == nil })
	if got := keys(read[0]); got != "lag_events lag_ms projection shards" || read[0]["lag_events"] != nil {
		t.Errorf("%v", read)
	}
	counted := p.until("projections lag billing/balances --ids", func(found []map[string]any) bool { return found[0]["ids"] == 1.0 })
	if got := keys(counted[0]); got != "ids lag_events lag_ms projection stuck" || counted[0]["lag_events"] != 2.0 || counted[0]["stuck"] != 1.0 {
		t.Errorf("%v", counted)
	}
	o := invoke(t.Context(), "", p.at("projections verify --min-age 0s")...)
	found := results(t, o.out)
	if o.status != statusFailed || o.err != "dynajournal: projections verify: found 1 problems in 2 persistence ids\n" || len(found) != 1 ||
		keys(found[0]) != "error kind lag_events lag_ms persistence_id projection sequence_nr" || found[0]["kind"] != "stuck" {
		t.Errorf("%+v", o)
	}

	// The event is skipped once, however often the command is called. A process may already be
	// handling the next event.
	for range 2 {
		o := invoke(t.Context(), "", p.at("projections skip billing/balances a --seq 2 --yes")...)
		if o.status == statusDone {
			if got := results(t, o.out)[0]; keys(got) != "first persistence_id projection sequence_nr" || got["sequence_nr"] != 2.0 {
				t.Errorf("%v", got)
			}
		} else if !strings.Contains(o.err, operator.ErrNotStuck.Error()) && !strings.Contains(o.err, operator.ErrClaimed.Error()) {
			t.Errorf("%+v", o)
		}
	}
	none := func(found []map[string]any) bool { return len(found) == 0 }
	p.until("projections stuck billing/balances", none)

	must(t, p.at("append b --string poison")...)
	p.until("projections stuck", one)
	cured.Store(true)
	if got := must(t, p.at("projections retry billing/balances b")...); keys(got[0]) != "persistence_id projection" {
		t.Errorf("%v", got)
	}
	p.until("projections stuck", none)
	if o := invoke(t.Context(), "", p.at("projections verify")...); o.status != statusDone || o.err != "checked 2 persistence ids, found nothing\n" {
		t.Errorf("%+v", o)
	}

	for _, args := range []string{"reset", "remove"} {
		if o := invoke(t.Context(), "", p.at("projections "+args+" billing/balances --yes")...); o.status != statusFailed ||
			!strings.Contains(o.err, projection.ErrInUse.Error()) {
			t.Errorf("%s while it runs: %+v", args, o)
		}
	}
	stop()
	if got := must(t, p.at("projections reset billing/balances --yes")...); keys(got[0]) != "projection rows" || got[0]["rows"] != 2.0 {
		t.Errorf("%v", got)
	}
	o = invoke(t.Context(), "", p.at("projections verify --min-age 0s --output text")...)
	if o.status != statusFailed || !strings.Contains(o.out, "billing/balances: a: no-row at 0: no event is handled (3 events, the oldest") {
		t.Errorf("%+v", o)
	}
	got := must(t, p.at("projections remove billing/balances --yes")...)
	if keys(got[0]) != "items projection" || got[0]["items"].(float64) < 3 { // those of the stream
		t.Errorf("%v", got)
	}
	p.until("projections list", none)
	if o := invoke(t.Context(), "", p.at("projections remove billing/balances --yes")...); o.status != statusFailed ||
		!strings.Contains(o.err, projection.ErrNoProjection.Error()) {
		t.Errorf("once more: %+v", o)
	}
}

func TestProjections_DeadLetters(t *testing.T) {
	p := newProjecting(t)
	must(t, p.at("append a --string x --string y")...)
	var open atomic.Bool
	target := outbox.TargetFunc(func(_ context.Context, m outbox.Message) error {
		if open.Load() {
			return nil
		}
		return fmt.Errorf("%w: at %d", outbox.ErrRefused, m.SequenceNumber)
	})
	group, err := projection.New(p.journal, projection.Config{Name: "shop", ClaimTimeout: 300 * time.Millisecond},
		outbox.New("out", target, func(context.Context, dynajournal.Event) ([]outbox.Message, error) {
			return []outbox.Message{{Topic: "t", Body: []byte("body")}}, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- group.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	const list = "projections dead-letters shop/out"
	letters := p.until(list, func(found []map[string]any) bool { return len(found) == 2 })
	l := letters[0]
	if got := keys(l); got != "bytes error message persistence_id projection refused sequence_nr topic" || l["persistence_id"] != "a" ||
		l["topic"] != "t" || l["bytes"] != 4.0 || !strings.Contains(l["error"].(string), "refuses the message: at ") {
		t.Errorf("%v", letters)
	}
	shown := invoke(t.Context(), "", p.at(list+" --output text")...)
	if !strings.Contains(shown.out, " of a at 1, 4 bytes to t, refused ") {
		t.Errorf("%+v", shown)
	}
	first, second := " shop/out "+l["message"].(string), " shop/out "+letters[1]["message"].(string)
	if o := invoke(t.Context(), "", p.at("projections discard"+first)...); o.status != statusUsage {
		t.Errorf("without --yes: %+v", o)
	}
	if got := must(t, p.at("projections discard --yes"+first)...); keys(got[0]) != "message outcome projection" {
		t.Errorf("%v", got)
	}
	o := invoke(t.Context(), "", p.at("projections discard --yes"+first)...)
	if o.status != statusFailed || !strings.Contains(o.err, outbox.ErrNoDeadLetter.Error()) {
		t.Errorf("again: %+v", o)
	}
	open.Store(true)
	if got := must(t, p.at("projections send-again"+second)...); got[0]["outcome"] != "will be sent again" {
		t.Errorf("%v", got)
	}
	p.until(list, func(found []map[string]any) bool { return len(found) == 0 })
	if o := invoke(t.Context(), "", p.at("projections send-again"+second)...); !strings.Contains(o.err, outbox.ErrNoDeadLetter.Error()) {
		t.Errorf("again: %+v", o)
	}
}

func TestProjections_WrongUsage(t *testing.T) {
	p := newProjecting(t)
	for args, want := range map[string]struct {
		status int
		text   string
	}{
		"projections skip g/p a":                 {statusUsage, "confirm with --yes"},
		"projections reset g/p":                  {statusUsage, "confirm with --yes"},
		"projections remove g/p":                 {statusUsage, "confirm with --yes"},
		"projections remove p --yes":             {statusUsage, "group and the projection"},
		"projections verify --min-age -1s":       {statusUsage, "--min-age must not be negative"},
		"projections retry p a":                  {statusUsage, "group and the projection"},
		"projections stuck p":                    {statusUsage, "group and the projection"},
		"projections retry g/p a":                {statusFailed, projection.ErrNoProjection.Error()},
		"projections lag g/p":                    {statusFailed, "`dynajournal projections list` lists the projections"},
		"projections verify g/p --per-second -1": {statusFailed, projection.ErrNoProjection.Error()},
		"projections list --layout naive":        {statusUsage, "--layout naive"},
	} {
		o := invoke(t.Context(), "", p.at(args)...)
		if o.status != want.status || !strings.Contains(o.err, want.text) || strings.Count(o.err, "\n") != 1 || o.out != "" {
			t.Errorf("%s: %+v", args, o)
		}
	}
	for args, want := range map[string]string{
		"list":  "no projection of this journal has run yet\n",
		"lag":   "no lag to show: `dynajournal projections list` lists the projections\n",
		"stuck": "no persistence id is stuck\n",
	} {
		if o := invoke(t.Context(), "", p.at("projections "+args)...); o.status != statusDone || o.out != "" || o.err != want {
			t.Errorf("%s: %+v", args, o)
		}
	}
}

func TestProjectionsNeedTheirTable(t *testing.T) {
	clean(t)
	must(t, "append", "a", "--string", "x")
	for _, args := range []string{"list", "lag", "stuck", "verify", "retry g/p a"} {
		o := invoke(t.Context(), "", strings.Fields("projections "+args)...)
		if o.status != statusFailed || !strings.Contains(o.err, "tables update --projections") {
			t.Errorf("%s: %+v", args, o)
		}
	}
}

func TestProjections_Text(t *testing.T) {
	zero, two, ms := 0, 2, new(int64(1500))
	for want, r := range map[string]result{
		"g/p: at-least-once, by sweep, 2 processes": projectionResult{Projection: "g/p", Kind: "at-least-once", Source: "sweep", Processes: 2},
		"g/p: transactional, by streams, not running, last seen 1970-01-01T00:00:00Z, its reset or removal was interrupted: run it again": projectionResult{
			Projection: "g/p", Kind: "transactional", Source: "streams", Seen: time.Unix(0, 0).UTC(), Resetting: true},
		"g/p: a is stuck at 2: bad; worse":                       stuckResult{"g/p", "a", 2, "bad\nworse"},
		"g/p: \"a\\n\" will be handled again":                    requestedResult{"g/p", "a\n"},
		"g/p: a: skipped event 2":                                skippedResult{"g/p", "a", 2, 2, false},
		"g/p: a: skipped the deleted events 2 to 4":              skippedResult{"g/p", "a", 4, 2, false},
		"g/p: a: skipped the purge":                              skippedResult{"g/p", "a", 0, 0, true},
		"g/p: a: skipped the purge of the events up to 4":        skippedResult{"g/p", "a", 4, 4, true},
		"g/p: deleted 3 rows: it restarts from the first events": resetResult{"g/p", 3},
		"g/p: removed, with 3 items":                             removeResult{"g/p", 3},
		"g/p: everything is handled":                             lagResult{Projection: "g/p", IDs: &zero, Stuck: &zero},
		"g/p: it reads no stream: use --ids to measure its lag":  lagResult{Projection: "g/p"},
		"g/p: 1500 events of 2 persistence ids are not handled, the oldest 1.5s old; 2 are stuck": lagResult{
			Projection: "g/p", IDs: &two, Stuck: &two, LagEvents: ms, LagMs: ms},
		"g/p: not started\n  s1: not read yet, no process reads it": lagResult{Projection: "g/p", Shards: []shardResult{{Shard: "s1"}}},
		"g/p: 1.5s behind, and a sweep of all persistence ids is pending\n  s1: 1.5s behind, read by w": lagResult{
			Projection: "g/p", LagMs: ms, SweepPending: true, Shards: []shardResult{{"s1", "w", ms}}},
		"g/p: a: behind at 2: why (3 events, the oldest 2s ago)": auditResult{"g/p", "a", 2, 3, 1500, operator.FindingBehind, "why"},
		"g/p: a: stuck at 2: why":                                auditResult{"g/p", "a", 2, 0, 0, operator.FindingStuck, "why"},
	} {
		if got := r.text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
