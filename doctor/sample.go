package doctor

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/layout"
)

const (
	// sampled is the number of persistence ids that are compared.
	sampled = 10
	// sampleUnits bounds the read units of a comparison. The last read can go beyond it, by the
	// size of a snapshot.
	sampleUnits = 30
)

// sample returns some persistence ids. It reads only as many entries of the index as it needs. ok
// is false if there is no index: a listing would scan the table.
func (e *examination) sample(ctx context.Context) (pids []string, ok bool, err error) {
	t := e.tables[e.names.journal]
	i := slices.IndexFunc(t.Indexes, func(i dynajournal.Index) bool { return i.Name == e.idsIndex() && i.Status == "ACTIVE" })
	if i < 0 || e.header == nil {
		return nil, false, nil
	}
	shards := e.header.IDsShards
	if e.kind != layout.KindNative {
		shards = 1
	}
	for shard := range shards {
		in := &dynamodb.QueryInput{TableName: &t.Name, IndexName: aws.String(e.idsIndex()), Limit: aws.Int32(2 * sampled)}
		if e.kind == layout.KindNative {
			of := e.keys().IDsAttributesOf(shard, e.keys().IDsKeyPrefix())
			in.KeyConditionExpression = aws.String(layout.AttrIDsShard + " = :shard AND " + layout.AttrIDsKey + " >= :from")
			in.ExpressionAttributeValues = map[string]types.AttributeValue{":shard": of[layout.AttrIDsShard], ":from": of[layout.AttrIDsKey]}
		} else {
			in.KeyConditionExpression = aws.String(layout.AttrNum + " = :one")
			in.ExpressionAttributeValues = map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}}
		}
		out, err := e.client.Query(ctx, in)
		if err != nil {
			return nil, true, err
		}
		for _, item := range out.Items {
			pid := e.pidOf(item)
			if pid == "" || slices.Contains(pids, pid) {
				continue
			}
			if pids = append(pids, pid); len(pids) == sampled {
				return pids, true, nil
			}
		}
	}
	return pids, true, nil
}

// pidOf returns the persistence id of an entry of the index, or an empty string for an entry of
// another journal.
func (e *examination) pidOf(entry map[string]types.AttributeValue) string {
	if e.kind == layout.KindNative {
		key, _ := strings.CutPrefix(text(entry[layout.AttrIDsKey]), e.keys().IDsKeyPrefix())
		return key
	}
	pid, ok := strings.CutPrefix(text(entry[layout.AttrPar]), e.keys().Journal+"-P-")
	if pid, first := strings.CutSuffix(pid, "-0"); ok && first {
		return pid
	}
	return ""
}

func text(v types.AttributeValue) string {
	s, _ := v.(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

// number returns the value of a number, or 0.
func number(v types.AttributeValue) int64 {
	n, _ := v.(*types.AttributeValueMemberN)
	if n == nil {
		return 0
	}
	value, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		return 0
	}
	return value
}

// restored compares the newest snapshots of some persistence ids with the journal. A snapshot that
// is ahead of its journal means that only the journal table was restored, or that the tables do not
// belong together. Writers must not start then.
func (e *examination) restored(ctx context.Context, j *dynajournal.Journal, units *readUnits) Check {
	c := Check{Name: "restore.snapshots", Status: StatusOK}
	pids, ok, err := e.sample(ctx)
	switch {
	case err != nil:
		return failed(c.Name, "dynamodb:Query on the index "+e.idsIndex(), err)
	case !ok:
		c.Status, c.Found = StatusUnknown, "without an index, a listing scans the table: dynajournal verify compares all persistence ids"
		return c
	}
	start, compared := units.now(), 0
	for _, pid := range pids {
		if units.now()-start > sampleUnits {
			break
		}
		compared++
		snapshot, found, err := j.LoadSnapshot(ctx, pid, dynajournal.SnapshotCriteria{})
		if err != nil {
			return failed(c.Name, "dynamodb:Query on "+e.names.snapshots, err)
		}
		if !found {
			continue
		}
		bounds, err := j.Bounds(ctx, pid)
		if err != nil {
			return failed(c.Name, "dynamodb:Query on "+e.names.journal, err)
		}
		if snapshot.SequenceNumber > bounds.Highest {
			return notTogether(c.Name, fmt.Sprintf("%q has a snapshot at %d, and the journal ends at %d", pid, snapshot.SequenceNumber, bounds.Highest))
		}
	}
	c.Found = fmt.Sprintf("the snapshots of %d persistence ids are not ahead of the journal", compared)
	return c
}

// notTogether returns the result of tables that do not belong together.
func notTogether(name, found string) Check {
	return Check{
		Name: name, Status: StatusError, Found: found, Want: "tables that belong together",
		Fix: "do not start writers: a table was restored alone, or is the wrong one", Docs: "operations.md#after-a-restore",
	}
}

// offsets compares the offsets of some persistence ids with the journal. An offset after the last
// event means that the projection would not handle the next events.
func (e *examination) offsets(ctx context.Context, j *dynajournal.Journal, projections []string, units *readUnits) Check {
	c := Check{Name: "restore.offsets", Status: StatusOK}
	pids, ok, err := e.sample(ctx)
	switch {
	case err != nil:
		return failed(c.Name, "dynamodb:Query on the index "+e.idsIndex(), err)
	case !ok:
		c.Status, c.Found = StatusUnknown, "without an index, a listing scans the table: dynajournal projections verify compares all offsets"
		return c
	}
	start, compared := units.now(), 0
	for _, pid := range pids {
		if units.now()-start > sampleUnits {
			break
		}
		compared++
		bounds, err := j.Bounds(ctx, pid)
		if err != nil {
			return failed(c.Name, "dynamodb:Query on "+e.names.journal, err)
		}
		for _, projection := range projections {
			row, err := e.client.GetItem(ctx, &dynamodb.GetItemInput{
				TableName: &e.names.projections, ProjectionExpression: aws.String("seq"), Key: map[string]types.AttributeValue{
					layout.AttrPar: &types.AttributeValueMemberS{Value: e.keys().Journal + "\x00" + projection + "\x00" + pid},
				},
			})
			if err != nil {
				return failed(c.Name, "dynamodb:GetItem on "+e.names.projections, err)
			}
			units.count(1)
			if offset := number(row.Item["seq"]); offset > bounds.Highest {
				return notTogether(c.Name, fmt.Sprintf("projection %s has handled %q up to %d, and the journal ends at %d", projection, pid, offset, bounds.Highest))
			}
		}
	}
	c.Found = fmt.Sprintf("the offsets of %d persistence ids in %d projections are not ahead of the journal", compared, len(projections))
	return c
}
