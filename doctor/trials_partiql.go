package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// batch is the largest number of statements of a request.
const batch = 25

// item returns an item of the journal table that is no item of a journal.
func item(name string, n int) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"par": &types.AttributeValueMemberS{Value: "trial-" + name}, "num": &types.AttributeValueMemberN{Value: strconv.Itoa(n)},
	}
}

// insert returns the statement that inserts an item.
func (t *trials) insert(of map[string]types.AttributeValue) types.BatchStatementRequest {
	statement := types.BatchStatementRequest{}
	text := bytes.NewBufferString(fmt.Sprintf("INSERT INTO %q VALUE {", *t.table))
	for name, value := range of {
		if len(statement.Parameters) > 0 {
			text.WriteString(", ")
		}
		fmt.Fprintf(text, "'%s': ?", name)
		statement.Parameters = append(statement.Parameters, value)
	}
	statement.Statement = aws.String(text.String() + "}")
	return statement
}

// insertAll inserts items with one request. It returns the codes of the statements, and the number
// of entries and the sum of the reported capacity.
func (t *trials) insertAll(ctx context.Context, items ...map[string]types.AttributeValue) (codes map[string]int, entries int, units float64, err error) {
	in := &dynamodb.BatchExecuteStatementInput{ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
	for _, of := range items {
		in.Statements = append(in.Statements, t.insert(of))
	}
	out, err := t.client.BatchExecuteStatement(ctx, in)
	if err != nil {
		return nil, 0, 0, err
	}
	codes = map[string]int{}
	for _, response := range out.Responses {
		if response.Error == nil {
			codes["done"]++
		} else {
			codes[string(response.Error.Code)]++
		}
	}
	for _, capacity := range out.ConsumedCapacity {
		units += aws.ToFloat64(capacity.CapacityUnits)
	}
	return codes, len(out.ConsumedCapacity), units, nil
}

func (t *trials) partiQLTypes(ctx context.Context) (Status, string) {
	var items []map[string]types.AttributeValue
	for i := range batch {
		of := item("types", i)
		of["text"] = &types.AttributeValueMemberS{Value: `it's "quoted"`}
		of["bytes"] = &types.AttributeValueMemberB{Value: []byte{0, 255, byte(i)}}
		of["empty"] = &types.AttributeValueMemberB{Value: []byte{}}
		of["tags"] = &types.AttributeValueMemberSS{Value: []string{"a", "b"}}
		of["meta"] = &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"k": &types.AttributeValueMemberS{Value: "v"}}}
		items = append(items, of)
	}
	codes, entries, units, err := t.insertAll(ctx, items...)
	switch {
	case err != nil:
		return failedTrial(err)
	case codes["done"] != batch:
		return StatusError, fmt.Sprintf("the outcomes are %v", codes)
	case entries != 1 && entries != batch:
		return StatusWarn, fmt.Sprintf("all are inserted; the capacity has %d entries, %v units", entries, units)
	}
	return StatusOK, fmt.Sprintf("all are inserted; the capacity has %d entries, %v units", entries, units)
}

func (t *trials) partiQLDuplicates(ctx context.Context) (Status, string) {
	items := []map[string]types.AttributeValue{item("types", batch)} // a new one
	for i := range batch - 1 {
		items = append(items, item("types", i))
	}
	codes, entries, units, err := t.insertAll(ctx, items...)
	switch {
	case err != nil:
		return failedTrial(err)
	case codes["done"] != 1 || codes[string(types.BatchStatementErrorCodeEnumDuplicateItem)] != batch-1:
		return StatusError, fmt.Sprintf("the outcomes are %v", codes)
	}
	return StatusOK, fmt.Sprintf("as expected; the capacity has %d entries, %v units", entries, units)
}

func (t *trials) partiQLSameKey(ctx context.Context) (Status, string) {
	codes, _, _, err := t.insertAll(ctx, item("same", 1), item("same", 1))
	if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() == "ValidationException" {
		return StatusOK, "ValidationException"
	}
	return StatusWarn, fmt.Sprintf("the outcomes are %v, %v", codes, err)
}

// tableByARN reads an item of a table that is named by its ARN, which owners of shared tables use.
func (t *trials) tableByARN(ctx context.Context) (Status, string) {
	table, err := t.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: t.table})
	if err != nil {
		return failedTrial(err)
	}
	arn := aws.ToString(table.Table.TableArn)
	out, err := t.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
		RequestItems: map[string]types.KeysAndAttributes{arn: {Keys: []map[string]types.AttributeValue{item("types", 1)}}},
	})
	if err != nil {
		return StatusWarn, err.Error()
	}
	for name, items := range out.Responses {
		switch {
		case len(items) != 1:
			return StatusWarn, fmt.Sprintf("%d items", len(items))
		case name == arn:
			return StatusOK, "the response names the ARN"
		}
	}
	return StatusOK, "the response names the table"
}

// sizeLimit puts items at the limit of the service, and one byte above it.
func (t *trials) sizeLimit(ctx context.Context) (Status, string) {
	const limit = 400 << 10
	for extra, want := range []bool{true, false} {
		of := item("size", extra)
		const number = 2 // bytes
		used := len("par") + len("trial-size") + len("num") + number + len("data")
		of["data"] = &types.AttributeValueMemberB{Value: make([]byte, limit-used+extra)}
		_, err := t.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: t.table, Item: of})
		if accepted := err == nil; accepted != want {
			return StatusWarn, fmt.Sprintf("an item of %d bytes: accepted is %v (%v)", limit+extra, accepted, err)
		}
	}
	return StatusOK, "as expected"
}
