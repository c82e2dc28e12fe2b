package jvm

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	// block is the number of sequence numbers that share a partition.
	block = 100
	// mostGet and mostWrite limit the keys and the items that the plug-in puts into one request.
	mostGet, mostWrite = 100, 25
	// DefaultMaxItemSize is the plug-in's default for the largest item.
	DefaultMaxItemSize = 400_000
)

// Plugin is the plug-in of one JVM service. Its settings must not change after its first use.
type Plugin struct {
	// MaxItemSize is the largest item that it writes, by its own estimate.
	MaxItemSize int
	// Now is the clock of its snapshots.
	Now func() time.Time

	client                      *dynamodb.Client
	journalTable, snapshotTable string
	journalName                 string
	shards                      int64
}

// New returns the plug-in for a journal whose marks have a number of shards.
func New(client *dynamodb.Client, journalTable, snapshotTable, journalName string, shards int) *Plugin {
	return &Plugin{
		MaxItemSize:   DefaultMaxItemSize,
		Now:           time.Now,
		client:        client,
		journalTable:  journalTable,
		snapshotTable: snapshotTable,
		journalName:   journalName,
		shards:        int64(shards),
	}
}

type item = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func binary(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

func key(par string, num int64) item { return item{"par": text(par), "num": number(num)} }

func (p *Plugin) eventKey(pid string, seq int64) item {
	return key(p.partition(pid, seq/block), seq%block)
}

func (p *Plugin) partition(pid string, partition int64) string {
	return p.journalName + "-P-" + pid + "-" + strconv.FormatInt(partition, 10)
}

// markKind is the part of a key that names the kind of a mark.
type markKind string

const (
	highMark markKind = "SH"
	lowMark  markKind = "SL"
)

func (p *Plugin) markKey(kind markKind, pid string, shard int64) item {
	return key(p.journalName+"-"+string(kind)+"-"+pid+"-"+strconv.FormatInt(shard, 10), 0)
}

// markItem returns the mark for a number in its shard.
func (p *Plugin) markItem(kind markKind, pid string, seq int64) item {
	mark := p.markKey(kind, pid, seq/block%p.shards)
	if kind == highMark {
		seq -= seq % block
	}
	mark["seq"] = number(seq)
	return mark
}

// numberOf returns a numeric attribute. It reports false if the item does not have one of that
// name.
func numberOf(i item, name string) (int64, bool, error) {
	v, ok := i[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0, false, nil
	}
	n, err := strconv.ParseInt(v.Value, 10, 64)
	if err != nil {
		return 0, false, fmt.Errorf("read %s of an item: %w", name, err)
	}
	return n, true, nil
}

func textOf(i item, name string) string {
	if v, ok := i[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

func binaryOf(i item, name string) ([]byte, bool) {
	v, ok := i[name].(*types.AttributeValueMemberB)
	if !ok {
		return nil, false
	}
	return v.Value, true
}

// put puts one item.
func (p *Plugin) put(ctx context.Context, table string, i item) error {
	if _, err := p.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: i}); err != nil {
		return fmt.Errorf("put an item into %s: %w", table, err)
	}
	return nil
}

// putRequest and deleteRequest are the parts of a batch.
func putRequest(i item) types.WriteRequest {
	return types.WriteRequest{PutRequest: &types.PutRequest{Item: i}}
}

func deleteRequest(key item) types.WriteRequest {
	return types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: key}}
}

// write writes without conditions, as many items at a time as fit into a request.
func (p *Plugin) write(ctx context.Context, table string, writes []types.WriteRequest) error {
	for len(writes) > 0 {
		n := min(len(writes), mostWrite)
		out, err := p.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{table: writes[:n]},
		})
		if err != nil {
			return fmt.Errorf("write to %s: %w", table, err)
		}
		writes = append(out.UnprocessedItems[table], writes[n:]...)
	}
	return nil
}
