//go:build differential

package conformance_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// difference is a known difference between the engine and dynoxide, with the documentation that
// proves the engine right.
type difference struct {
	operation string
	// body is a part of the request's body. If it is empty, any request matches.
	body string
	// ours and theirs are the starts of the responses. If one is empty, any response matches.
	ours, theirs string
	// without has the names of members at any depth. The responses must be equal without them. It
	// replaces ours and theirs.
	without []string
	// because is the reason, from the documentation.
	because string
}

func (d difference) explains(t *testing.T, operation, body, ours, theirs string) bool {
	t.Helper()
	if d.operation != operation || !strings.Contains(body, d.body) {
		return false
	}
	if d.without != nil {
		return stripped(t, ours, d.without) == stripped(t, theirs, d.without)
	}
	return strings.HasPrefix(ours, d.ours) && strings.HasPrefix(theirs, d.theirs)
}

// stripped returns a response without the members.
func stripped(t *testing.T, response string, members []string) string {
	t.Helper()
	status, text, _ := strings.Cut(response, " ")
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return response
	}
	return status + " " + encode(t, strip(value, members))
}

func strip(value any, members []string) any {
	switch value := value.(type) {
	case []any:
		for i := range value {
			value[i] = strip(value[i], members)
		}
	case map[string]any:
		for name := range value {
			if slices.Contains(members, name) {
				delete(value, name)
			} else {
				value[name] = strip(value[name], members)
			}
		}
	}
	return value
}

const (
	refused = "400 ValidationException"
	missing = "400 ResourceNotFoundException"
	failed  = "400 ConditionalCheckFailedException"
	done    = "200 "
)

var differences = slices.Concat(
	[]difference{
		{operation: "BatchExecuteStatement", without: []string{"TableName", "Item"}, because: "BatchStatementResponse has " +
			"TableName, and the Item of a condition that failed is returned on request"},
		{operation: "GetItem", without: []string{"ConsumedCapacity"}, because: "what is read is paid for, not what a projection returns"},
		{operation: "Query", body: `"IndexName":"loc"`, without: []string{"ConsumedCapacity"}, because: "an item fetched from the table for a local " +
			"index costs a read of its own, rounded up"},
		{operation: "Scan", body: `"IndexName":"loc"`, without: []string{"ConsumedCapacity"}, because: "INDEXES tells of each index that was read"},
		{operation: "BatchWriteItem", body: "ReturnItemCollectionMetrics", without: []string{"ItemCollectionMetrics"}, because: "a table without local " +
			"indexes has no item collections: no entry"},
		{operation: "ExecuteStatement", without: []string{"LastEvaluatedKey"}, because: "ExecuteStatementOutput has LastEvaluatedKey beside NextToken"},
		{operation: "PutItem", body: `"TableName":"two"`, without: []string{"ConsumedCapacity"}, because: "what is stored before differs, see the key of " +
			"an index of 2049 bytes"},
	},
	refusedByRule, partiqlDifferences, tableDifferences, laterDifferences, keyPathDifferences, laterTableDifferences,
)

// refusedByRule are requests that violate a documented rule that dynoxide does not check, or checks
// elsewhere.
var refusedByRule = []difference{
	{operation: "PutItem", body: `"TableName":"ab"`, ours: refused, theirs: missing, because: "names of tables have 3 to 255 characters"},
	{operation: "GetItem", body: `"TableName":"ab"`, ours: refused, theirs: missing, because: "as above"},
	{operation: "UpdateItem", body: `"TableName":"ab"`, ours: refused, theirs: missing, because: "as above"},
	{operation: "Scan", body: `"TableName":"ab"`, ours: refused, theirs: missing, because: "as above"},
	{operation: "BatchGetItem", body: `"RequestItems":{"a":`, ours: refused, theirs: missing, because: "as above"},
	{operation: "BatchGetItem", body: `{"N":"1"}},{"pk":{"N":"1.0"}}`, ours: refused, theirs: done, because: "two keys of one item; 1 and 1.0 are one number"},
	{operation: "BatchWriteItem", body: `{"N":"1.0"}`, ours: refused, theirs: done, because: "as above"},
	{operation: "BatchWriteItem", body: `}},"DeleteRequest"`, ours: refused, theirs: done, because: "a WriteRequest is a put or a delete"},
	{operation: "TransactGetItems", body: `"ProjectionExpression":""`, ours: refused, theirs: done, because: "an expression has at least one operand"},
	{operation: "TransactWriteItems", body: `}},"Delete":`, ours: refused, theirs: done, because: "an action is one of check, put, update, delete"},
	{operation: "TransactWriteItems", body: `"SS":[]`, ours: refused, theirs: "400 {", because: "a request that is invalid in itself is refused, not cancelled"},
	{operation: "TransactWriteItems", body: `"ConditionExpression":""`, ours: refused, theirs: "400 {", because: "as above"},
	{operation: "TransactWriteItems", body: `"UpdateExpression":"SET a = :a"`, ours: refused, theirs: "400 {", because: "as above"},
	{operation: "TransactWriteItems", body: `"UpdateExpression":"SET pk = :a"`, ours: "400 {", theirs: done, because: "the attributes of a key cannot be updated"},
	{operation: "TransactWriteItems", body: `"ClientRequestToken":""`, ours: refused, theirs: done, because: "a token has 1 to 36 characters"},
	{operation: "PutItem", body: `":b":{"S":"y"}`, ours: refused, theirs: failed, because: "all values given must be used in an expression"},
	{operation: "PutItem", body: `"a = a"`, ours: refused, theirs: failed, because: "an operand is not compared with itself"},
	{operation: "PutItem", body: "attribute_type", ours: refused, theirs: failed, because: "the type is a string, one of the names of types"},
	{operation: "PutItem", body: `"a < :a"`, ours: refused, theirs: failed, because: "only strings, numbers and binaries have an order"},
	{operation: "PutItem", body: "ConditionalOperator", ours: refused, theirs: done, because: "it joins the conditions of a legacy parameter, two or more"},
	{operation: "Scan", body: "ConditionalOperator", ours: refused, theirs: done, because: "as above"},
	{operation: "PutItem", body: `"LT"`, ours: refused, theirs: failed, because: "LT takes a string, a number or a binary"},
	{operation: "PutItem", body: `{"S":"aaaaaaaaaaaaaaaa`, ours: refused, theirs: done, because: "hash keys of indexes have 2048 bytes at most, too"},
	{operation: "Query", body: `"Limit":1.5`, ours: refused, theirs: "400 SerializationException", because: "fractions of integers are cut off in reading; then the key condition is missing"},
	{operation: "Scan", body: `"Limit":-1`, ours: refused, theirs: "400 SerializationException", because: "a limit is at least 1"},
	{operation: "PutItem", ours: "400 SerializationException", theirs: refused, because: "a request is a JSON object"},
	{operation: "UpdateItem", body: "REMOVE b.c", ours: refused, theirs: done, because: "the path to a nested attribute must exist"},
	{operation: "UpdateItem", body: `"ALL_OLD"`, ours: "200 {", theirs: `200 {"Attributes"`, because: "of an item that was not there before nothing is returned"},
	{operation: "UpdateItem", body: `l[1] = :x`, ours: done, theirs: done, because: "UPDATED_NEW returns the updated attributes alone, of a list its updated elements"},
	{operation: "UpdateItem", body: `REMOVE l[1], l[2]`, ours: done, theirs: done, because: "all elements of an update are those of the list as it was"},
	{operation: "UpdateItem", body: `l[9] = :x`, ours: done, theirs: done, because: "an element beyond the end of a list is appended to it"},
	{operation: "Scan", body: `"ALL_ATTRIBUTES","AttributesToGet"`, ours: refused, theirs: done, because: "attributes are chosen with SPECIFIC_ATTRIBUTES alone"},
	{operation: "Scan", body: `"ScanFilter":{"a":{`, ours: refused, theirs: done, because: "ComparisonOperator is required, one of its values"},
	{operation: "Query", body: `"ExpressionAttributeValues":{":a":{"N":"1"}}`, ours: refused, theirs: done, because: "the value of a key condition has the type of the key"},
	{operation: "Query", body: `"ExpressionAttributeValues":{":a":{"S":""}}`, ours: refused, theirs: done, because: "keys are not empty"},
	{operation: "Query", body: `"AttributeValueList":[{"N":"1"}]`, ours: refused, theirs: done, because: "the value of a key condition has the type of the key"},
	{operation: "Query", body: `"KeyConditions":{"pk"`, ours: done, theirs: refused, because: "KeyConditions may stand beside a FilterExpression"},
	{operation: "Query", body: "begins_with(sk, :v)", ours: refused, theirs: done, because: "begins_with is for strings and binaries"},
	{operation: "Query", body: `":v":{"S":"1"}`, ours: refused, theirs: done, because: "the value of a key condition has the type of the key"},
	{operation: "Query", body: "ExclusiveStartKey", ours: refused, theirs: done, because: "the starting key is one that the query can end a page with"},
	{operation: "Query", body: `"IndexName":"loc"`, ours: done, theirs: done, because: "attributes that a local index does not project are fetched from the table"},
	{operation: "Query", body: `"ProjectionExpression":"y"`, ours: refused, theirs: done, because: "a global index cannot fetch attributes that it does not project"},
}

var partiqlDifferences = []difference{
	{operation: "ExecuteStatement", body: `"Parameters":[{"S":"num"}]`, ours: refused, theirs: done, because: "there is one parameter for each question mark"},
	{operation: "ExecuteStatement", body: "ORDER BY pk", ours: refused, theirs: done, because: "ORDER BY needs a WHERE with the hash key"},
	{operation: "ExecuteStatement", body: "ORDER BY sk DESC", ours: done, theirs: done, because: "DESC orders from high to low"},
	{operation: "ExecuteStatement", body: "SET pk = 'z'", ours: refused, theirs: failed, because: "the attributes of a key cannot be updated"},
	{operation: "ExecuteStatement", body: " SET b = 'x'", ours: done, theirs: refused, because: "an UPDATE has one or more SET clauses"},
	{operation: "ExecuteStatement", body: "RETURNING MODIFIED OLD", ours: done, theirs: done, because: "as above: what is stored before differs"},
	{operation: "ExecuteStatement", body: "RETURNING ALL OLD", ours: done, theirs: done, because: "as above"},
	{operation: "ExecuteStatement", body: "y[1]", ours: done, theirs: done, because: "a column without a name is numbered, as PartiQL has it"},
	{operation: "ExecuteStatement", body: "attribute_type(", ours: done, theirs: refused, because: "attribute_type is a function of PartiQL for DynamoDB"},
	{operation: "ExecuteStatement", body: "size(", ours: done, theirs: refused, because: "size is a function of PartiQL for DynamoDB"},
	{operation: "ExecuteStatement", body: "set_add(", ours: done, theirs: refused, because: "set_add and set_delete are functions of PartiQL for DynamoDB, and SETs can be several"},
	{operation: "ExecuteTransaction", body: "EXISTS(", ours: "400 {", theirs: refused, because: "EXISTS checks a condition in a transaction"},
}

var tableDifferences = []difference{
	{operation: "CreateTable", body: `"KeySchema":[{"AttributeName":"a","KeyType":"HASH"}]}`, ours: refused, theirs: done, because: "a provisioned table has a throughput"},
	{operation: "CreateTable", body: `"ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1},`, ours: refused, theirs: "400 ", because: "a global " +
		"index of a provisioned table has a throughput"},
	{operation: "CreateTable", body: `"BillingMode":"PAY_PER_REQUEST"}`, ours: done, theirs: "400 ResourceInUse", because: "as the first: there is a table already"},
	{operation: "DescribeTable", body: "arn:", ours: done, theirs: refused, because: "a table is named by its name or its ARN"},
	{operation: "UpdateTable", body: `"Update":{"IndexName":"nope"`, ours: missing, theirs: refused, because: "there is no such resource"},
	{operation: "UpdateTable", body: `"Create":{"IndexName":"new"`, ours: refused, theirs: done, because: "a global index of a provisioned table has a throughput"},
	{operation: "UpdateTable", body: "StreamSpecification", ours: refused, theirs: done, because: "streams are not part of the engine"},
	{operation: "PutItem", body: `":""}`, ours: refused, because: "an attribute's name has at least one character"},
	{operation: "DescribeContinuousBackups", ours: done, theirs: "400 UnknownOperation", because: "it is an operation of DynamoDB"},
	{operation: "DescribeLimits", ours: done, theirs: "400 UnknownOperation", because: "it is an operation of DynamoDB"},
	{operation: "DescribeEndpoints", ours: done, theirs: "400 UnknownOperation", because: "as above"},
	{operation: "UpdateTimeToLive", ours: refused, theirs: done, because: "time to live that is on cannot be enabled, nor disabled that is off"},
	{operation: "DescribeTimeToLive", ours: done, theirs: done, because: "as above"},
	{operation: "TagResource", ours: "200", theirs: "200", because: "the answer has no body"},
	{operation: "UntagResource", ours: "200", theirs: "200", because: "the answer has no body"},
}

// laterDifferences are about newer behavior of DynamoDB that dynoxide does not have.
var laterDifferences = []difference{
	{operation: "UpdateItem", body: `"DELETE a :a"`, ours: "200 {}", theirs: done, because: "an update that only removes makes no item"},
	{operation: "UpdateItem", body: `"REMOVE x.y, l[0]"`, ours: "200 {}", theirs: done, because: "as above"},
	{operation: "GetItem", body: `{"S":"none"}`, ours: "200 {}", theirs: done, because: "as above"},
	{operation: "ExecuteStatement", body: `"FROM `, theirs: refused, because: "an UPDATE can begin with FROM"},
	{operation: "ExecuteStatement", body: "set_delete(gone", ours: done, theirs: refused, because: "nothing is deleted from what does not exist"},
	{operation: "ExecuteStatement", body: " IS BOOL", ours: done, theirs: refused, because: "IS takes the names of types"},
	{operation: "ExecuteStatement", body: "attribute_exists(nope)", ours: failed, theirs: refused, because: "attribute_exists is a function of PartiQL for DynamoDB"},
	{operation: "ExecuteStatement", body: "1e99999999999", ours: refused, theirs: done, because: "a parameter is a number within the limits"},
	{operation: "ExecuteTransaction", body: "1e99999999999", ours: refused, theirs: done, because: "as above"},
	{operation: "ExecuteTransaction", body: "SELECT * FROM two WHERE pk = 'a'", ours: refused, theirs: done, because: "a SELECT in a transaction names its item by the whole key"},
	{operation: "ExecuteTransaction", without: []string{"Responses"}, because: "a transaction of writes has no responses"},
	{operation: "BatchExecuteStatement", body: "two.glo", ours: refused, theirs: done, because: "a batch reads or writes"},
	{operation: "PutItem", body: "1e2147483647", ours: refused, theirs: done, because: "values of Expected are within the limits"},
	{operation: "TransactGetItems", body: `{"NS":["2","1","2"]}`, ours: refused, theirs: "400 {", because: "a request that is invalid in itself is refused, not cancelled"},
	{operation: "TransactWriteItems", body: `"TableName":"none"`, ours: refused, theirs: missing, because: "as above, before any table is looked for"},
	{operation: "TransactWriteItems", body: `{"N":"8"}`, ours: "400 {", theirs: "400 {", because: "actions behind the first that is invalid are not looked at"},
	{operation: "Query", body: `"TableName":"none"`, ours: refused, theirs: missing, because: "begins_with is for strings and binaries, whatever the table"},
	{operation: "Query", body: `{"BOOL":true}`, ours: refused, theirs: done, because: "the value of a key condition has the type of the key"},
	{operation: "PutItem", body: "NOT_CONTAINS", ours: failed, theirs: done, because: "NOT_CONTAINS is false of an attribute that does not exist"},
	{operation: "TagResource", body: `"aws:x"`, ours: refused, theirs: done, because: "keys that begin with aws: are reserved"},
	{operation: "TagResource", body: `d%g`, ours: refused, theirs: done, because: "tags have letters, white space, numbers and + - = . _ : / @"},
	{operation: "TagResource", body: `\"y\"`, ours: refused, theirs: done, because: "as above"},
	{operation: "TagResource", body: "é", ours: "200", theirs: refused, because: "the lengths of tags are in characters"},
	{operation: "UpdateTable", body: `"AttributeName":"sk","AttributeType":"S"`, ours: refused, theirs: done, because: "attributes cannot be redefined"},
	{operation: "GetItem", body: "nnnnnnnn", ours: refused, theirs: done, because: "names of attributes have less than 64 KB"},
	{operation: "CreateTable", body: `["a","a"]`, ours: refused, theirs: done, because: "an attribute is projected once"},
}

// keyPathDifferences are about paths into key attributes, which dynoxide accepts in part.
var keyPathDifferences = []difference{
	{operation: "GetItem", body: `"paths"`, ours: refused, theirs: done, because: "the attributes of keys are scalars"},
	{operation: "BatchGetItem", body: `"paths"`, ours: refused, theirs: done, because: "as above"},
	{operation: "TransactGetItems", body: `"paths"`, ours: refused, theirs: done, because: "as above"},
	{operation: "Query", body: `"paths"`, ours: refused, theirs: done, because: "as above"},
	{operation: "Scan", body: `"paths"`, ours: refused, theirs: done, because: "as above"},
	{operation: "PutItem", body: `"paths"`, ours: refused, theirs: failed, because: "as above"},
	{operation: "PutItem", body: `"ConditionExpression":"m.x = :v",`, ours: done, theirs: failed, because: "what is stored before differs"},
	{operation: "DeleteItem", body: `"paths"`, ours: refused, theirs: done, because: "the attributes of keys are scalars"},
	{operation: "UpdateItem", body: `"paths"`, ours: refused, because: "as above"},
	{operation: "TransactWriteItems", body: `"paths"`, ours: "400 {", theirs: done, because: "as above"},
	{operation: "ExecuteStatement", body: "paths", ours: refused, because: "as above"},
	{operation: "BatchExecuteStatement", body: "paths", ours: done, theirs: done, because: "as above"},
}

// laterTableDifferences are about the bounds of reads, and about the billing mode.
var laterTableDifferences = []difference{
	{operation: "BatchGetItem", body: `"big"`, ours: done, theirs: done, because: "keys are unprocessed if more than 1 MB of a partition is requested"},
	{operation: "Query", body: `"TableName":"hash"`, without: []string{"LastEvaluatedKey"}, because: "no position follows the only item, and a starting key is refused"},
	{operation: "UpdateTable", body: `"nope","BillingMode":"PROVISIONED"`, ours: refused, theirs: missing, because: "the request is checked before the table is looked for"},
	{operation: "UpdateTable", body: `"TableName":"bill"`, ours: refused, theirs: done, because: "each global index of a provisioned table has a throughput, and none of " +
		"an on-demand one"},
	{operation: "UpdateTable", body: `"index4"`, ours: done, theirs: refused, because: "the table became provisioned before"},
}
