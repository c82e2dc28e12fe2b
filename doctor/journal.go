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
	// probes is the largest number of reads that measure the latency, and measured limits their
	// time.
	probes   = 10
	measured = 2 * time.Second
	// slowLatency is a median latency that only another Region or a proxy explains.
	slowLatency = 20 * time.Millisecond
	// The service refuses signatures that are 15 minutes old or more.
	badSkew, unusualSkew = 15 * time.Minute, time.Minute
)

// journal opens the journal, and checks its header, index, clock, latency and a sample of its data.
func (e *examination) journal(ctx context.Context) []Check {
	units := &readUnits{}
	opening, cancel := context.WithTimeout(ctx, timeout)
	j, err := dynajournal.Open(opening, units.counting(e.config))
	cancel()
	header := Check{Name: "header", Status: StatusOK, Docs: "formats.md"}
	switch {
	case err == nil:
		header.Docs = ""
	case errors.Is(err, dynajournal.ErrInvalidArgument):
		return []Check{{Name: "config", Status: StatusError, Found: err.Error(), Want: "a complete configuration", Fix: "correct the setting"}}
	case errors.Is(err, dynajournal.ErrNoHeader), errors.Is(err, dynajournal.ErrHeaderMismatch), errors.Is(err, dynajournal.ErrTableSchema):
		header.Status, header.Found, header.Want = StatusError, err.Error(), "the journal of the configuration"
		header.Fix = "check the names of the tables and of the journal, and the number of shards"
		return []Check{header}
	default:
		return []Check{failed("header", "dynamodb:DescribeTable and dynamodb:GetItem on "+e.names.journal, err)}
	}
	defer func() { _ = j.Close() }()
	switch {
	case e.header != nil:
		header.Found = fmt.Sprintf("a %s journal of version %d with a fence window of %v", e.kind, e.header.Version, e.fenceWindow())
	default:
		header.Status, header.Found = StatusWarn, "no header: a journal that a JVM has made"
		header.Want, header.Fix, header.Docs = "a header", "nothing, if a JVM uses the journal; otherwise check the name of the table", "jvm.md"
	}
	all := []Check{header}
	if e.tables[e.names.journal].Status != "" {
		all = append(all, e.index(j))
	}
	all = append(all, e.latency(ctx, j)...)
	if _, ok := e.tables[e.names.snapshots]; ok {
		comparing, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		all = append(all, e.restored(comparing, j, units))
	}
	return all
}

// fenceWindow returns the fence window of the header, or 0 without a header.
func (e *examination) fenceWindow() time.Duration {
	if e.header == nil {
		return 0
	}
	return time.Duration(e.header.FenceWindow) * time.Second
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
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var took []time.Duration
	for first := time.Now(); len(took) < probes && time.Since(first) < measured; {
		start := time.Now()
		if err := j.Ping(ctx); err != nil {
			return []Check{failed("latency", "dynamodb:GetItem", err)}
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	median := took[len(took)/2]
	latency := Check{Name: "latency", Status: StatusOK, Found: fmt.Sprintf("a read takes %v (median of %d)", median.Round(10*time.Microsecond), len(took))}
	if median > slowLatency {
		latency.Status, latency.Want, latency.Docs = StatusWarn, fmt.Sprintf("at most %v", slowLatency), "aws.md"
		latency.Fix = "run in the Region of the tables, and use a VPC endpoint"
	}
	skew := j.Stats().ClockSkew
	clock := Check{Name: "clock", Status: StatusOK, Found: fmt.Sprintf("differs by %v from the service", skew.Round(time.Second))}
	if off := skew.Abs(); off > unusualSkew {
		clock.Status, clock.Want, clock.Fix = StatusWarn, fmt.Sprintf("at most %v", unusualSkew), "synchronize the clock of the machine"
		clock.Docs = "guarantees.md"
		if window := e.fenceWindow(); off > badSkew || window > 0 && off > window/10 {
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

func (u *readUnits) count(units float64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.used += units
}

func (u *readUnits) now() float64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.used
}

// counting returns a configuration whose journal counts its read units.
func (u *readUnits) counting(config dynajournal.Config) dynajournal.Config {
	config.Hooks = append(slices.Clone(config.Hooks), dynajournal.Hook{OnRequest: func(_ context.Context, r dynajournal.Request) {
		u.count(r.Cost.ReadUnits)
	}})
	return config
}
