package entities_test

import (
	"hash/fnv"
	"time"
)

// passing has the durations that pass at once.
var passing = []time.Duration{
	100 * time.Millisecond, time.Second, 5 * time.Second, 12 * time.Second, time.Minute, 11 * time.Minute,
}

// pass lets time pass. The timers of a sleeping machine stop. As all processes share their timers
// here, the others' timers stop too, which may also happen without a sleep.
func (g *simulation) pass(size int) {
	d := passing[size%len(passing)]
	asleep := false
	for _, h := range g.hosts {
		asleep = asleep || h.machine.Sleeps()
	}
	if asleep && d >= time.Minute {
		for len(g.inside) > 0 {
			time.Sleep(time.Second)
			g.catchUp()
		}
		for _, h := range g.hosts {
			h.machine.Skip(d)
		}
		g.skew.Add(int64(d))
	} else {
		time.Sleep(d)
		g.changed = true
		g.catchUp()
	}
	g.net.ForgetBefore(g.now().Add(-signatureLife))
}

// sleepOrWake puts the machine of a host to sleep, or wakes it. When the machine wakes, some of its
// requests are sent. For others it receives the response, or finds that the connection is gone.
func (g *simulation) sleepOrWake(h *host) {
	if h.machine.Sleeps() {
		h.machine.Wake()
		for _, release := range h.withheld {
			release()
		}
		h.withheld = nil
		return
	}
	if !h.machine.Sleep() {
		return
	}
	g.sum.injected["sleep"]++
	for _, r := range g.net.Pending() {
		if r.Process != h.name {
			continue
		}
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(r.String()))
		kind := (uint64(hash.Sum32()) + g.seed) % 3
		if kind == 2 {
			continue
		}
		_, _, release := g.net.Perform(r)
		g.changed = true
		if kind == 1 {
			release = func() { g.net.Fail(r) }
		}
		h.withheld = append(h.withheld, release)
	}
}

// stepClock sets the wall clock of a host's machine forward or back.
func (g *simulation) stepClock(h *host, size int) {
	steps := []time.Duration{time.Minute, 4 * time.Minute, 61 * time.Minute, 25 * time.Hour}
	by := steps[size/2%len(steps)]
	if size%2 == 0 {
		by = -by
	}
	if h.machine.Step(by) {
		g.sum.injected["clock set"]++
	}
}
