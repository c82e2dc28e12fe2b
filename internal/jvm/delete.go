package jvm

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Delete deletes all events up to a number. It puts the low mark without a condition, as a new
// item, and then removes the events from the previous low mark on.
func (p *Plugin) Delete(ctx context.Context, pid string, to int64) error {
	low, err := p.LowMark(ctx, pid)
	if err != nil {
		return err
	}
	high, err := p.Highest(ctx, pid)
	if err != nil {
		return err
	}
	to = min(to, high)
	if to+1 > low {
		if err := p.put(ctx, p.journalTable, p.markItem(lowMark, pid, to+1)); err != nil {
			return err
		}
	}
	return p.removeEvents(ctx, pid, low, to)
}

func (p *Plugin) removeEvents(ctx context.Context, pid string, from, to int64) error {
	var writes []types.WriteRequest
	for seq := from; seq <= to; seq++ {
		writes = append(writes, deleteRequest(p.eventKey(pid, seq)))
	}
	return p.write(ctx, p.journalTable, writes)
}

// Purge removes all events that it finds, and all marks.
func (p *Plugin) Purge(ctx context.Context, pid string) error {
	high, err := p.Highest(ctx, pid)
	if err != nil {
		return err
	}
	if err := p.removeEvents(ctx, pid, 0, high); err != nil {
		return err
	}
	var writes []types.WriteRequest
	for _, kind := range []markKind{lowMark, highMark} {
		for shard := range p.shards {
			writes = append(writes, deleteRequest(p.markKey(kind, pid, shard)))
		}
	}
	return p.write(ctx, p.journalTable, writes)
}
