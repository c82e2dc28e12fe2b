package simulate_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"github.com/dynajournal/dynajournal/internal/explore"
)

// passing has the durations that pass at once.
var passing = []time.Duration{
	time.Second, 5 * time.Second, 12 * time.Second, time.Minute, 20 * time.Minute, 35 * time.Minute, 61 * time.Minute, 3 * time.Hour,
}

// pass lets time pass: waiting requests time out, old ones are rejected, and expired items are
// removed. The timers of a sleeping machine stop. As all processes share their timers here, the
// others' timers stop too, which may also happen without a sleep.
func (g *simulation) pass(size int) {
	d := passing[size%len(passing)]
	stopped := size/len(passing)%2 == 1
	for _, a := range g.actors {
		stopped = stopped || a.machine.Sleeps()
	}
	if stopped && d >= time.Minute {
		g.skip(d)
	} else {
		g.sleep(d)
	}
	g.net.ForgetBefore(g.now().Add(-signatureLife))
	g.expire()
}

// expire removes expired items, all of them or some: time to live removes them in any order.
func (g *simulation) expire() {
	if g.rand.IntN(2) == 0 {
		g.expireSome()
		return
	}
	if _, err := g.engine.SweepExpired(); err != nil {
		g.Fatal(err)
	}
	for _, l := range g.ledgers {
		l.Expired(g.now())
	}
	g.catchUp()
}

// expireSome removes some of the expired items.
func (g *simulation) expireSome() {
	for _, row := range g.scan(journalTable) {
		var item struct {
			Par, Num json.RawMessage
			Expires  struct{ N string }
		}
		if err := json.Unmarshal(row, &item); err != nil {
			g.Fatal(err)
		}
		if item.Expires.N == "" || g.rand.IntN(2) == 0 {
			continue
		}
		at, err := strconv.ParseInt(item.Expires.N, 10, 64)
		if err != nil {
			g.Fatal(err)
		}
		if at < g.now().Unix() {
			key := map[string]json.RawMessage{"par": item.Par, "num": item.Num}
			g.ask("DeleteItem", map[string]any{"TableName": journalTable, "Key": key}, &struct{}{})
			g.observe(tableKey{journalTable, fmt.Appendf(nil, `{"par":%s,"num":%s}`, item.Par, item.Num)}, json.RawMessage("null"))
			g.sum.injected["expired alone"]++
		}
	}
	g.catchUp()
}

// sleep lets time pass in which timers fire.
func (g *simulation) sleep(d time.Duration) {
	for d > 0 {
		step := d
		for _, i := range g.inside {
			step = min(step, max(time.Until(i.due), 1))
		}
		time.Sleep(step)
		d -= step
		g.catchUp()
	}
}

// skip lets time pass in which no timer fires. The service completes its current work before.
func (g *simulation) skip(d time.Duration) {
	for len(g.inside) > 0 {
		g.sleep(time.Second)
	}
	for _, a := range g.actors {
		a.machine.Skip(d)
	}
	g.skew.Add(int64(d))
}

// sleepOrWake puts the machine of an actor to sleep, or wakes it. The actor is stopped meanwhile.
// When the machine wakes, some of its requests are sent. For others it receives the response, or
// finds that the connection is gone.
func (g *simulation) sleepOrWake(a *actor) {
	if a.machine.Sleeps() {
		g.trace("wakes", a.name)
		a.machine.Wake()
		for _, release := range a.withheld {
			release()
		}
		a.withheld = nil
		g.catchUp()
		return
	}
	a = g.sleepy(a)
	if !a.machine.Sleep() {
		return
	}
	g.trace("sleeps", a.name)
	g.sum.injected["sleep"]++
	for _, r := range g.net.Pending() {
		if r.Process != a.name {
			continue
		}
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(r.String()))
		switch (uint64(hash.Sum32()) + g.seed) % 3 {
		case 0:
			g.sum.injected["response after a sleep"]++
			a.withheld = append(a.withheld, g.perform(r))
		case 1:
			g.sum.injected["reset after a sleep"]++
			g.perform(r)
			a.withheld = append(a.withheld, func() { g.net.Fail(r) })
		}
	}
}

// sleepy returns the actor whose machine is put to sleep, mostly one with requests in flight.
func (g *simulation) sleepy(a *actor) *actor {
	if g.rand.IntN(4) == 0 {
		return a
	}
	for _, r := range g.net.Pending() {
		for _, other := range g.actors {
			if other.name == r.Process && !other.machine.Sleeps() {
				return other
			}
		}
	}
	return a
}

// perform lets the service perform a request. The sender gets no response until release is called.
func (g *simulation) perform(r *explore.Request) (release func()) {
	_, _, release = g.net.Perform(r)
	g.learn(r)
	return release
}

// stepClock sets the wall clock of an actor's machine forward or back.
func (g *simulation) stepClock(a *actor, size int) {
	steps := []time.Duration{time.Minute, 4 * time.Minute, 31 * time.Minute, 61 * time.Minute, 3 * time.Hour, 25 * time.Hour}
	by := steps[size/2%len(steps)]
	name := "clock set forward"
	if size%2 == 0 {
		by, name = -by, "clock set back"
	}
	if a.machine.Step(by) {
		g.trace(name, a.name)
		g.sum.injected[name]++
	}
}

// driftClock makes both clocks of an actor's machine run fast or slow, or at normal speed again.
func (g *simulation) driftClock(a *actor, size int) {
	rates := []float64{0.001, -0.001, 0.01, -0.01, 0.05, -0.05, 0}
	rate := rates[size%len(rates)]
	a.machine.Run(rate)
	if rate != 0 {
		g.sum.injected["clock drifts"]++
	}
}
