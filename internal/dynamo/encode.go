package dynamo

import (
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// appendPlain is the JSON of a request; false if it is of an operation, or says anything, that is not written down here.
func appendPlain(in any) ([]byte, bool) {
	const small = 512
	e := encoder{plain: true}
	switch in := in.(type) {
	case *dynamodb.BatchExecuteStatementInput:
		e.json = make([]byte, 0, batchLength(in))
		e.batchExecuteStatement(in)
	case *dynamodb.QueryInput:
		e.json = make([]byte, 0, small)
		e.query(in)
	case *dynamodb.BatchGetItemInput:
		e.json = make([]byte, 0, small+keysLength(in))
		e.batchGetItem(in)
	case *dynamodb.PutItemInput:
		e.json = make([]byte, 0, small+valuesLength(in.Item))
		e.putItem(in)
	default:
		return nil, false
	}
	return e.json, e.plain
}

// encoder writes JSON down. What is no value, or an empty one that the SDK leaves out, is left out.
type encoder struct {
	json []byte
	// plain is false once something was met that is left to the SDK.
	plain bool
}

// needs leaves a request to the SDK that is not as it is needed.
func (e *encoder) needs(plain bool) { e.plain = e.plain && plain }

func (e *encoder) query(in *dynamodb.QueryInput) {
	e.needs(in.AttributesToGet == nil && in.ConditionalOperator == "" && in.KeyConditions == nil && in.QueryFilter == nil)
	e.object(func() {
		e.text("TableName", in.TableName)
		e.flag("ConsistentRead", in.ConsistentRead)
		e.item("ExclusiveStartKey", in.ExclusiveStartKey)
		e.names(in.ExpressionAttributeNames)
		e.item("ExpressionAttributeValues", in.ExpressionAttributeValues)
		e.text("FilterExpression", in.FilterExpression)
		e.text("IndexName", in.IndexName)
		e.text("KeyConditionExpression", in.KeyConditionExpression)
		if in.Limit != nil {
			e.member("Limit")
			e.json = strconv.AppendInt(e.json, int64(*in.Limit), 10)
		}
		e.text("ProjectionExpression", in.ProjectionExpression)
		e.word("ReturnConsumedCapacity", string(in.ReturnConsumedCapacity))
		e.flag("ScanIndexForward", in.ScanIndexForward)
		e.word("Select", string(in.Select))
	})
}

func (e *encoder) batchGetItem(in *dynamodb.BatchGetItemInput) {
	e.needs(in.RequestItems != nil)
	e.object(func() {
		e.word("ReturnConsumedCapacity", string(in.ReturnConsumedCapacity))
		e.member("RequestItems")
		e.object(func() {
			for table, wanted := range in.RequestItems {
				e.needs(wanted.Keys != nil && wanted.AttributesToGet == nil && wanted.ExpressionAttributeNames == nil &&
					wanted.ProjectionExpression == nil)
				e.member(table)
				e.object(func() {
					e.flag("ConsistentRead", wanted.ConsistentRead)
					e.member("Keys")
					e.list(len(wanted.Keys), func(i int) { e.attributes(wanted.Keys[i]) })
				})
			}
		})
	})
}

func (e *encoder) putItem(in *dynamodb.PutItemInput) {
	e.needs(in.ConditionalOperator == "" && in.Expected == nil && in.ReturnItemCollectionMetrics == "")
	e.object(func() {
		e.text("TableName", in.TableName)
		e.item("Item", in.Item)
		e.text("ConditionExpression", in.ConditionExpression)
		e.names(in.ExpressionAttributeNames)
		e.item("ExpressionAttributeValues", in.ExpressionAttributeValues)
		e.word("ReturnConsumedCapacity", string(in.ReturnConsumedCapacity))
		e.word("ReturnValues", string(in.ReturnValues))
		e.word("ReturnValuesOnConditionCheckFailure", string(in.ReturnValuesOnConditionCheckFailure))
	})
}

func (e *encoder) batchExecuteStatement(in *dynamodb.BatchExecuteStatementInput) {
	e.needs(in.Statements != nil)
	e.object(func() {
		e.word("ReturnConsumedCapacity", string(in.ReturnConsumedCapacity))
		e.member("Statements")
		e.list(len(in.Statements), func(i int) {
			s := &in.Statements[i]
			e.needs(s.Parameters != nil && s.ConsistentRead == nil && s.ReturnValuesOnConditionCheckFailure == "")
			e.object(func() {
				e.text("Statement", s.Statement)
				e.member("Parameters")
				e.list(len(s.Parameters), func(i int) { e.value(s.Parameters[i]) })
			})
		})
	})
}

func (e *encoder) object(members func()) {
	e.json = append(e.json, '{')
	members()
	e.json = append(e.json, '}')
}

func (e *encoder) list(n int, element func(i int)) {
	e.json = append(e.json, '[')
	for i := range n {
		if i > 0 {
			e.json = append(e.json, ',')
		}
		element(i)
	}
	e.json = append(e.json, ']')
}

// member begins a member of an object: its value follows.
func (e *encoder) member(name string) {
	if e.json[len(e.json)-1] != '{' {
		e.json = append(e.json, ',')
	}
	e.json = append(appendText(e.json, name), ':')
}

func (e *encoder) text(name string, value *string) {
	if value != nil {
		e.member(name)
		e.json = appendText(e.json, *value)
	}
}

func (e *encoder) word(name, value string) {
	if value != "" {
		e.text(name, &value)
	}
}

func (e *encoder) flag(name string, value *bool) {
	if value != nil {
		e.member(name)
		e.json = strconv.AppendBool(e.json, *value)
	}
}

func (e *encoder) names(names map[string]string) {
	if names == nil {
		return
	}
	e.member("ExpressionAttributeNames")
	e.object(func() {
		for name, attribute := range names {
			e.text(name, &attribute)
		}
	})
}

func (e *encoder) item(name string, item Attributes) {
	if item != nil {
		e.member(name)
		e.attributes(item)
	}
}

func (e *encoder) attributes(item Attributes) {
	e.needs(item != nil)
	e.object(func() {
		for name, value := range item {
			e.member(name)
			e.value(value)
		}
	})
}

func (e *encoder) value(value types.AttributeValue) {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		e.json = appendText(append(e.json, `{"S":`...), v.Value)
	case *types.AttributeValueMemberN:
		e.json = appendText(append(e.json, `{"N":`...), v.Value)
	case *types.AttributeValueMemberB:
		e.needs(v.Value != nil) // which the SDK writes as null
		e.json = base64.StdEncoding.AppendEncode(append(e.json, `{"B":"`...), v.Value)
		e.json = append(e.json, '"')
	default:
		e.needs(false)
		return
	}
	e.json = append(e.json, '}')
}

// batchLength is at least how long the JSON of a batch is, for values that need no escapes.
func batchLength(in *dynamodb.BatchExecuteStatementInput) int {
	const perBatch, perStatement, perParameter = 64, 48, 10
	n := perBatch
	for i := range in.Statements {
		n += perStatement + len(aws.ToString(in.Statements[i].Statement))
		for _, p := range in.Statements[i].Parameters {
			n += perParameter + valueLength(p)
		}
	}
	return n
}

// keysLength is how long the JSON of a request's keys is, if all are as long as the first of their table.
func keysLength(in *dynamodb.BatchGetItemInput) int {
	n := 0
	for _, wanted := range in.RequestItems {
		if len(wanted.Keys) > 0 {
			n += len(wanted.Keys) * valuesLength(wanted.Keys[0])
		}
	}
	return n
}

// valuesLength is how long the values of an item are in JSON, if they need no escapes, and what is around each.
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

// appendText appends a string of JSON. What is no UTF-8 becomes U+FFFD, as the SDK has it.
func appendText(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	begin := 0 // of what is to be appended as it is
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		dst = append(dst, s[begin:i]...)
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		default:
			dst = append(dst, "\uFFFD"...)
		}
		i++
		begin = i
	}
	return append(append(dst, s[begin:]...), '"')
}
