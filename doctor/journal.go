package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dynajournal/dynajournal"
)

const (
	// probes is the number of reads that measure the latency.
	probes = 20
	// slowLatency is a median latency that only another Region or a proxy explains.
	slowLatency = 20 * time.Millisecond
	// The service refuses signatures that are 15 minutes old or more.
	badSkew, unusualSkew = 15 * time.Minute, time.Minute
	// sampled is the number of persistence ids whose snapshots are compared with the journal.
	sampled = 10
	// sampleUnits bounds the read units of the comparison.
	sampleUnits = 90
)

// journal opens the journal, and checks its header, index, clock, latency and a sample of its data.
func (e *examination) journal(ctx context.Context) []Check {
	config := e.config
	units := &readUnits{}
	config.Hooks = append(slices.Clone(config.Hooks), dynajournal.Hook{OnRequest: units.add})
	j, err := dynajournal.Open(ctx, config)
	header := Check{Name: "header", Status: StatusOK, Docs: "formats.md"}
	switch {
	case err == nil:
		header.Docs = ""
	case errors.Is(err, dynajournal.ErrDenied):
		return []Check{failed("header", "dynamodb:GetItem", err)}
	case errors.Is(err, dynajournal.ErrNoHeader), errors.Is(err, dynajournal.ErrHeaderMismatch), errors.Is(err, dynajournal.ErrTableSchema):
		header.Status, header.Found, header.Want = StatusError, err.Error(), "the journal of the configuration"
		header.Fix = "check the names of the tables and of the journal, and the number of shards"
		return []Check{header}
	default:
		return []Check{failed("header", "", err)}
	}
	defer func() { _ = j.Close() }()
	t := e.tables[e.names.journal]
	header.Found = fmt.Sprintf("a %s journal of version %d with a fence window of %v", t.Kind, t.Version, t.FenceWindow)
	if t.Kind == "" {
		header.Status, header.Found = StatusWarn, "no header: a journal that a JVM has made"
		header.Want, header.Fix, header.Docs = "a header", "nothing, if a JVM uses the journal; otherwise check the name of the table", "jvm.md"
	}
	all := []Check{header, e.index(j)}
	latency := e.latency(ctx, j)
	return append(append(all, latency...), e.restored(ctx, j, units))
}

// index checks the index of persistence ids.
func (e *examination) index(j *dynajournal.Journal) Check {
	t, name := e.tables[e.names.journal], e.idsIndex()
	c := Check{Name: "index.ids", Status: StatusOK, Found: name + " is ACTIVE"}
	i := slices.IndexFunc(t.Indexes, func(i dynajournal.Index) bool { return i.Name == name })
	switch {
	case i >= 0 && t.Indexes[i].Status == "ACTIVE":
		return c
	case i >= 0:
		c.Status, c.Found, c.Want, c.Fix = StatusWarn, name+" is "+t.Indexes[i].Status, "ACTIVE", "wait: listings scan the table until then"
	case j.Native():
		c.Status, c.Found, c.Want, c.Fix = StatusError, "there is no index "+name, "the index "+name, "dynajournal tables update"
	default:
		c.Status, c.Found, c.Want = StatusWarn, "there is no index "+name, "the index "+name+", so that listings do not scan the table"
		c.Fix = "dynajournal tables update, which says what it costs"
	}
	c.Docs = "aws.md#tables"
	return c
}

// latency measures reads, and compares the clocks.
func (e *examination) latency(ctx context.Context, j *dynajournal.Journal) []Check {
	took := make([]time.Duration, 0, probes)
	for range probes {
		start := time.Now()
		if err := j.Ping(ctx); err != nil {
			return []Check{failed("latency", "dynamodb:GetItem", err)}
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	median := took[probes/2]
	latency := Check{Name: "latency", Status: StatusOK, Found: fmt.Sprintf("a read takes %v (median of %d)", median.Round(10*time.Microsecond), probes)}
	if median > slowLatency {
		latency.Status, latency.Want, latency.Docs = StatusWarn, fmt.Sprintf("at most %v", slowLatency), "aws.md"
		latency.Fix = "run in the Region of the tables, and use a VPC endpoint"
	}
	skew := j.Stats().ClockSkew
	clock := Check{Name: "clock", Status: StatusOK, Found: fmt.Sprintf("differs by %v from the service", skew.Round(time.Second))}
	if off := skew.Abs(); off > unusualSkew {
		clock.Status, clock.Want, clock.Fix = StatusWarn, fmt.Sprintf("at most %v", unusualSkew), "synchronize the clock of the machine"
		clock.Docs = "guarantees.md"
		if window := e.tables[e.names.journal].FenceWindow; off > badSkew || window > 0 && off > window/10 {
			clock.Status = StatusError
		}
	}
	return []Check{latency, clock}
}

// readUnits counts the read units of a journal.
type readUnits struct {
	mu   sync.Mutex
	used float64
}

func (u *readUnits) add(_ context.Context, r dynajournal.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.used += r.Cost.ReadUnits
}

func (u *readUnits) now() float64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.used
}
