package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/provision"
)

// probe is a request that needs a permission. A request that writes has a condition that can't
// hold, so it writes nothing whatever is stored.
type probe struct {
	// name is the part of the check's name after perm, such as PutItem.journal.
	name, action, table string
	send                func(ctx context.Context) error
}

// probeKey is the hash key that probes name. Nothing is ever stored there.
const probeKey = "dynajournal-doctor"

// keyIn returns the key of the item that probes of a table name.
func keyIn(t *dynajournal.Table) map[string]types.AttributeValue {
	key := map[string]types.AttributeValue{}
	for _, k := range t.Keys {
		key[k.Name] = &types.AttributeValueMemberS{Value: probeKey}
		if k.Type == "N" {
			key[k.Name] = &types.AttributeValueMemberN{Value: "0"}
		}
	}
	return key
}

// permissions checks the permissions of the roles.
func (e *examination) permissions(ctx context.Context) []Check {
	var all []Check
	for _, p := range e.probes() {
		all = append(all, p.check(ctx))
	}
	if e.has(RoleService) {
		all = append(all, e.partiQL(ctx))
	}
	if e.has(RoleProjections) {
		all = append(all, e.streamProbes(ctx)...)
	}
	return all
}

// queryIndex returns a query of an index that finds nothing.
func (e *examination) queryIndex(t *dynajournal.Table, index *dynajournal.Index) func(context.Context) error {
	hash := index.Keys[0]
	var value types.AttributeValue = &types.AttributeValueMemberS{Value: probeKey}
	if hash.Type == "N" {
		value = &types.AttributeValueMemberN{Value: "-1"}
	}
	return func(ctx context.Context) error {
		_, err := e.client.Query(ctx, &dynamodb.QueryInput{
			TableName: &t.Name, IndexName: &index.Name, Limit: aws.Int32(1), KeyConditionExpression: aws.String("#hash = :hash"),
			ExpressionAttributeNames:  map[string]string{"#hash": hash.Name},
			ExpressionAttributeValues: map[string]types.AttributeValue{":hash": value},
		})
		return err
	}
}

// partiQL checks the permission of group commit. It inserts an item that exists: the header of the
// journal. Without a header nothing can be inserted safely.
func (e *examination) partiQL(ctx context.Context) Check {
	t := e.tables[e.names.journal]
	p := probe{"PartiQLInsert.journal", "dynamodb:PartiQLInsert", t.Name, func(ctx context.Context) error {
		header := e.keys().Header().Attributes()
		_, err := e.client.ExecuteStatement(ctx, &dynamodb.ExecuteStatementInput{
			Statement:  aws.String(fmt.Sprintf("INSERT INTO %q VALUE {'%s': ?, '%s': ?}", t.Name, layout.AttrPar, layout.AttrNum)),
			Parameters: []types.AttributeValue{header[layout.AttrPar], header[layout.AttrNum]},
		})
		if duplicate := new(types.DuplicateItemException); errors.As(err, &duplicate) {
			return nil
		}
		return err
	}}
	if e.header == nil {
		return Check{Name: "perm." + p.name, Status: StatusUnknown, Found: "a journal without a header has no item that could be inserted again"}
	}
	c := p.check(ctx)
	if c.Status == StatusError { // events are then sent singly
		c.Status = StatusWarn
	}
	return c
}

// streamProbes checks the permissions to read the stream. They read no records.
func (e *examination) streamProbes(ctx context.Context) []Check {
	table, err := e.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &e.names.journal})
	if err != nil || table.Table.LatestStreamArn == nil || e.tables[e.names.journal].Stream == "" {
		return nil // the check of the stream says so
	}
	arn, iterator := table.Table.LatestStreamArn, (*string)(nil)
	shard := ""
	describe := probe{"DescribeStream.journal", "dynamodb:DescribeStream", *arn, func(ctx context.Context) error {
		out, err := e.streams.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: arn, Limit: aws.Int32(1)})
		if err == nil && len(out.StreamDescription.Shards) > 0 {
			shard = *out.StreamDescription.Shards[0].ShardId
		}
		return err
	}}
	position := probe{"GetShardIterator.journal", "dynamodb:GetShardIterator", *arn, func(ctx context.Context) error {
		out, err := e.streams.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
			StreamArn: arn, ShardId: &shard, ShardIteratorType: streamtypes.ShardIteratorTypeLatest,
		})
		if err == nil {
			iterator = out.ShardIterator
		}
		return err
	}}
	read := probe{"GetRecords.journal", "dynamodb:GetRecords", *arn, func(ctx context.Context) error {
		_, err := e.streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: iterator, Limit: aws.Int32(1)})
		return err
	}}
	all := []Check{describe.check(ctx)}
	if shard != "" {
		all = append(all, position.check(ctx))
	}
	if iterator != nil {
		all = append(all, read.check(ctx))
	}
	return all
}

func (p *probe) check(ctx context.Context) Check {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c := Check{Name: "perm." + p.name, Status: StatusOK, Found: "allowed"}
	err := p.send(ctx)
	failedCondition := new(types.ConditionalCheckFailedException)
	switch {
	case err == nil, errors.As(err, &failedCondition):
	case lacksPermission(err):
		c.Status, c.Found, c.Want, c.Fix = StatusError, "denied", "allowed", "allow "+p.action+" on "+p.table
		c.Docs = "aws.md#permissions"
	default:
		c.Status, c.Found = StatusUnknown, err.Error()
	}
	return c
}

// probes returns the requests of the roles.
func (e *examination) probes() []probe {
	var all []probe
	add := func(name, table string, actions ...string) {
		t, ok := e.tables[table]
		if !ok || len(t.Keys) == 0 || t.Status == "DELETING" || t.Status == "CREATING" {
			return // the check of the table says so
		}
		for _, action := range actions {
			all = append(all, probe{action + "." + name, "dynamodb:" + action, table, e.request(action, &t)})
		}
	}
	add("journal", e.names.journal, "GetItem", "BatchGetItem", "Query")
	add("snapshots", e.names.snapshots, "Query")
	addIndex := func(name, table, index string) {
		t := e.tables[table]
		i := slices.IndexFunc(t.Indexes, func(i dynajournal.Index) bool { return i.Name == index && i.Status == "ACTIVE" })
		if i >= 0 {
			all = append(all, probe{"Query." + name, "dynamodb:Query", table + "/index/" + index, e.queryIndex(&t, &t.Indexes[i])})
		}
	}
	addIndex("ids", e.names.journal, e.idsIndex())
	if e.has(RoleProjections) {
		addIndex("debts", e.names.projections, provision.DebtsIndex)
	}
	if e.has(RoleService) {
		add("journal", e.names.journal, "PutItem")
		add("snapshots", e.names.snapshots, "GetItem", "PutItem")
	}
	if e.has(RoleProjections) {
		add("projections", e.names.projections, "GetItem", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem")
	}
	return all
}

// request returns a request of an action that reads or writes nothing.
func (e *examination) request(action string, t *dynajournal.Table) func(context.Context) error {
	table, key, hash := aws.String(t.Name), keyIn(t), t.Keys[0].Name
	never := aws.String(fmt.Sprintf("attribute_exists(%s) AND attribute_not_exists(%s)", hash, hash))
	switch action {
	case "GetItem":
		return func(ctx context.Context) error {
			_, err := e.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: key})
			return err
		}
	case "BatchGetItem":
		return func(ctx context.Context) error {
			keys := types.KeysAndAttributes{Keys: []map[string]types.AttributeValue{key}}
			_, err := e.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{t.Name: keys}})
			return err
		}
	case "Query":
		return func(ctx context.Context) error {
			_, err := e.client.Query(ctx, &dynamodb.QueryInput{
				TableName: table, Limit: aws.Int32(1), KeyConditionExpression: aws.String(hash + " = :hash"),
				ExpressionAttributeValues: map[string]types.AttributeValue{":hash": key[hash]},
			})
			return err
		}
	case "PutItem":
		return func(ctx context.Context) error {
			_, err := e.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: key, ConditionExpression: never})
			return err
		}
	case "UpdateItem":
		return func(ctx context.Context) error {
			_, err := e.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName: table, Key: key, ConditionExpression: never, UpdateExpression: aws.String("REMOVE probed"),
			})
			return err
		}
	}
	return func(ctx context.Context) error { // DeleteItem
		_, err := e.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: table, Key: key, ConditionExpression: never})
		return err
	}
}
