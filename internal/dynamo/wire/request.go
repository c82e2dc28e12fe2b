// Package wire converts between the SDK's requests and responses and DynamoDB's JSON, for the
// operations that a journal uses most. It is a faster second implementation of the SDK's codec,
// which remains the reference. A request or response is plain if this package knows all its fields,
// and all its values have the types S, N, B, SS or M with strings. Any other is left to the SDK as
// a whole. The package does no I/O.
package wire

import (
	"encoding/base64"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Encode appends the JSON of a request to a slice. It returns false for an operation or a field
// that only the SDK encodes.
func Encode(to []byte, in any) ([]byte, bool) {
	const small = 512
	e := encoder{plain: true}
	switch in := in.(type) {
	case *dynamodb.BatchExecuteStatementInput:
		e.json = to // which usually has the capacity of an earlier request
		e.batchExecuteStatement(in)
	case *dynamodb.QueryInput:
		e.json = slices.Grow(to, small)
		e.query(in)
	case *dynamodb.BatchGetItemInput:
		e.json = slices.Grow(to, small+keysLength(in))
		e.batchGetItem(in)
	case *dynamodb.PutItemInput:
		e.json = slices.Grow(to, small+valuesLength(in.Item))
		e.putItem(in)
	case *dynamodb.UpdateItemInput:
		e.json = slices.Grow(to, small+valuesLength(in.Key)+valuesLength(in.ExpressionAttributeValues))
		e.updateItem(in)
	case *dynamodb.GetItemInput:
		e.json = slices.Grow(to, small+valuesLength(in.Key))
		e.getItem(in)
	default:
		return nil, false
	}
	return e.json, e.plain
}

func (e *encoder) query(in *dynamodb.QueryInput) {
	e.require(in.AttributesToGet == nil && in.ConditionalOperator == "" && in.KeyConditions == nil &&
		in.QueryFilter == nil)
	e.object(func() {
		e.stringField("TableName", in.TableName)
		e.boolField("ConsistentRead", in.ConsistentRead)
		e.itemField("ExclusiveStartKey", in.ExclusiveStartKey)
		e.attributeNames(in.ExpressionAttributeNames)
		e.itemField("ExpressionAttributeValues", in.ExpressionAttributeValues)
		e.stringField("FilterExpression", in.FilterExpression)
		e.stringField("IndexName", in.IndexName)
		e.stringField("KeyConditionExpression", in.KeyConditionExpression)
		if in.Limit != nil {
			e.key("Limit")
			e.json = strconv.AppendInt(e.json, int64(*in.Limit), 10)
		}
		e.stringField("ProjectionExpression", in.ProjectionExpression)
		e.enumField("ReturnConsumedCapacity", string(in.ReturnConsumedCapacity))
		e.boolField("ScanIndexForward", in.ScanIndexForward)
		e.enumField("Select", string(in.Select))
	})
}

func (e *encoder) batchGetItem(in *dynamodb.BatchGetItemInput) {
	e.require(in.RequestItems != nil)
	e.object(func() {
		e.enumField("ReturnConsumedCapacity", string(in.ReturnConsumedCapacity))
		e.key("RequestItems")
		e.object(func() {
			for table, wanted := range in.RequestItems {
				e.require(wanted.Keys != nil && wanted.AttributesToGet == nil &&
					wanted.ExpressionAttributeNames == nil && wanted.ProjectionExpression == nil)
				e.key(table)
				e.object(func() {
					e.boolField("ConsistentRead", wanted.ConsistentRead)
					e.key("Keys")
					e.list(len(wanted.Keys), func(i int) { e.item(wanted.Keys[i]) })
				})
			}
		})
	})
}

func (e *encoder) putItem(in *dynamodb.PutItemInput) {
	e.require(in.ConditionalOperator == "" && in.Expected == nil && in.ReturnItemCollectionMetrics == "")
	e.object(func() {
		e.stringField("TableName", in.TableName)
		e.itemField("Item", in.Item)
		e.condition(in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
		e.returns(in.ReturnConsumedCapacity, in.ReturnValues, in.ReturnValuesOnConditionCheckFailure)
	})
}

func (e *encoder) updateItem(in *dynamodb.UpdateItemInput) {
	e.require(in.AttributeUpdates == nil && in.ConditionalOperator == "" && in.Expected == nil &&
		in.ReturnItemCollectionMetrics == "")
	e.object(func() {
		e.stringField("TableName", in.TableName)
		e.itemField("Key", in.Key)
		e.stringField("UpdateExpression", in.UpdateExpression)
		e.condition(in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
		e.returns(in.ReturnConsumedCapacity, in.ReturnValues, in.ReturnValuesOnConditionCheckFailure)
	})
}

// condition writes the condition of a write, and the names and values of its expressions.
func (e *encoder) condition(expression *string, names map[string]string, values Attributes) {
	e.stringField("ConditionExpression", expression)
	e.attributeNames(names)
	e.itemField("ExpressionAttributeValues", values)
}

// returns writes the fields that select the content of a write's response.
func (e *encoder) returns(
	capacity types.ReturnConsumedCapacity, values types.ReturnValue, failed types.ReturnValuesOnConditionCheckFailure,
) {
	e.enumField("ReturnConsumedCapacity", string(capacity))
	e.enumField("ReturnValues", string(values))
	e.enumField("ReturnValuesOnConditionCheckFailure", string(failed))
}

func (e *encoder) getItem(in *dynamodb.GetItemInput) {
	e.require(in.AttributesToGet == nil)
	e.object(func() {
		e.stringField("TableName", in.TableName)
		e.itemField("Key", in.Key)
		e.boolField("ConsistentRead", in.ConsistentRead)
		e.attributeNames(in.ExpressionAttributeNames)
		e.stringField("ProjectionExpression", in.ProjectionExpression)
		e.enumField("ReturnConsumedCapacity", string(in.ReturnConsumedCapacity))
	})
}

func (e *encoder) batchExecuteStatement(in *dynamodb.BatchExecuteStatementInput) {
	e.require(in.Statements != nil)
	e.object(func() {
		e.enumField("ReturnConsumedCapacity", string(in.ReturnConsumedCapacity))
		e.key("Statements")
		// Most statements have the same text: it is encoded once, and then copied.
		var text *string
		var from, to int
		e.list(len(in.Statements), func(i int) {
			s := &in.Statements[i]
			e.require(s.Parameters != nil && s.ConsistentRead == nil && s.ReturnValuesOnConditionCheckFailure == "")
			e.object(func() {
				if s.Statement == text {
					e.json = append(e.json, e.json[from:to]...)
				} else {
					from = len(e.json)
					e.stringField("Statement", s.Statement)
					text, to = s.Statement, len(e.json)
				}
				e.key("Parameters")
				e.list(len(s.Parameters), func(i int) { e.value(s.Parameters[i]) })
			})
		})
	})
}

// keysLength estimates the length of the JSON of a request's keys. It assumes that all keys of a
// table are as long as the first.
func keysLength(in *dynamodb.BatchGetItemInput) int {
	n := 0
	for _, wanted := range in.RequestItems {
		if len(wanted.Keys) > 0 {
			n += len(wanted.Keys) * valuesLength(wanted.Keys[0])
		}
	}
	return n
}

// valuesLength estimates the length of the JSON of an item whose values need no escapes.
func valuesLength(item Attributes) int {
	const perAttribute = 32
	n := 0
	for _, value := range item {
		n += perAttribute + valueLength(value)
	}
	return n
}

func valueLength(value types.AttributeValue) int {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return base64.StdEncoding.EncodedLen(len(v.Value))
	}
	return 0
}
