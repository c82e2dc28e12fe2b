package jvm

import (
	"context"
	"fmt"
	"math"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/serialization"
)

// Snapshot is a loaded snapshot.
type Snapshot struct {
	SequenceNumber int64
	// Timestamp is in milliseconds since 1970.
	Timestamp int64
	Payload   Payload
}

// Criteria select snapshots that are within all limits.
type Criteria struct {
	MinSequenceNumber, MaxSequenceNumber int64
	MinTimestamp, MaxTimestamp           int64
}

// All returns the criteria that select all snapshots.
func All() Criteria {
	return Criteria{MaxSequenceNumber: math.MaxInt64, MaxTimestamp: math.MaxInt64}
}

func (p *Plugin) snapshotKey(pid string, seq int64) item {
	return item{"par": text(p.journalName + "-P-" + pid), "seq": number(seq)}
}

// SaveSnapshot saves a snapshot.
func (p *Plugin) SaveSnapshot(ctx context.Context, pid string, s Snapshot) error {
	i := p.snapshotKey(pid, s.SequenceNumber)
	i["ts"] = number(s.Timestamp)
	i["pay_data"] = binary(s.Payload.Bytes)
	i["ser_id"] = number(int64(s.Payload.Serializer))
	if s.Payload.Manifest != "" {
		i["ser_manifest"] = text(s.Payload.Manifest)
	}
	return p.put(ctx, p.snapshotTable, i)
}

// LoadSnapshot loads the first snapshot of its query: the latest snapshot if the criteria have no
// limits of sequence numbers, otherwise the one with the highest number. It returns nil if that
// snapshot is outside the limits of time.
func (p *Plugin) LoadSnapshot(ctx context.Context, pid string, c Criteria) (*Snapshot, error) {
	items, err := p.chosen(ctx, pid, c, 1)
	if err != nil || len(items) == 0 {
		return nil, err
	}
	return snapshotOf(items[0])
}

// chosen returns the snapshots on the first page that the criteria select, up to most of them. 0
// means no limit. The limit also counts snapshots that only their time excludes.
func (p *Plugin) chosen(ctx context.Context, pid string, c Criteria, most int32) ([]item, error) {
	anyNumber := c.MinSequenceNumber == 0 && c.MaxSequenceNumber == math.MaxInt64
	anyTime := c.MinTimestamp == 0 && c.MaxTimestamp == math.MaxInt64
	in := &dynamodb.QueryInput{
		TableName:                 &p.snapshotTable,
		KeyConditionExpression:    aws.String("par = :par and seq between :first and :last"),
		ExpressionAttributeValues: item{":par": text(p.journalName + "-P-" + pid)},
		ScanIndexForward:          aws.Bool(false),
		ConsistentRead:            aws.Bool(true),
	}
	if most > 0 {
		in.Limit = &most
	}
	if anyNumber {
		in.IndexName = aws.String("ts-idx")
		in.KeyConditionExpression = aws.String("par = :par and ts between :earliest and :latest")
	} else {
		in.ExpressionAttributeValues[":first"] = number(c.MinSequenceNumber)
		in.ExpressionAttributeValues[":last"] = number(c.MaxSequenceNumber)
		if !anyTime {
			in.FilterExpression = aws.String("ts between :earliest and :latest")
		}
	}
	if anyNumber || !anyTime {
		in.ExpressionAttributeValues[":earliest"] = number(c.MinTimestamp)
		in.ExpressionAttributeValues[":latest"] = number(c.MaxTimestamp)
	}
	out, err := p.client.Query(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("find snapshots of %q: %w", pid, err)
	}
	return out.Items, nil
}

func snapshotOf(i item) (*Snapshot, error) {
	seq, _, err := numberOf(i, "seq")
	if err != nil {
		return nil, err
	}
	ts, _, err := numberOf(i, "ts")
	if err != nil {
		return nil, err
	}
	s := &Snapshot{SequenceNumber: seq, Timestamp: ts}
	if b, ok := binaryOf(i, "pay_data"); ok {
		serializer, _, err := numberOf(i, "ser_id")
		s.Payload = Payload{b, int32(serializer), textOf(i, "ser_manifest")}
		return s, err
	}
	b, _ := binaryOf(i, "pay")
	envelope, err := serialization.ParseSnapshot(b)
	if err != nil {
		return nil, fmt.Errorf("read a snapshot of Akka: %w", err)
	}
	s.Payload = Payload{envelope.Data.Bytes, envelope.Data.SerializerID, envelope.Data.Manifest}
	return s, nil
}

// DeleteSnapshot deletes the snapshot with a number.
func (p *Plugin) DeleteSnapshot(ctx context.Context, pid string, seq int64) error {
	_, err := p.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &p.snapshotTable, Key: p.snapshotKey(pid, seq),
	})
	if err != nil {
		return fmt.Errorf("delete the snapshot of %q at %d: %w", pid, seq, err)
	}
	return nil
}

// DeleteSnapshots deletes the snapshots that criteria select, on the first page.
func (p *Plugin) DeleteSnapshots(ctx context.Context, pid string, c Criteria) error {
	items, err := p.chosen(ctx, pid, c, 0)
	if err != nil {
		return err
	}
	var writes []types.WriteRequest
	for _, i := range items {
		writes = append(writes, deleteRequest(item{"par": i["par"], "seq": i["seq"]}))
	}
	return p.write(ctx, p.snapshotTable, writes)
}
