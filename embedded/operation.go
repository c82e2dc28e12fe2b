package embedded

import (
	"context"
	"slices"
)

// call is one request.
type call struct {
	ctx context.Context //nolint:containedctx // a call is one request and ends with it
	op  operation
	// in is nil for a request within the process.
	in *incoming
	// host is the host that the client sent the request to.
	host string
	body []byte
	// out is the body of the response, to which the operation appends.
	out []byte
	// fault is the fault that hits the request, or nil. damage is the damage that it does to the
	// response.
	fault  *requestFault
	damage damage
	// forms are the faults that change the form of the response.
	forms []Fault
	// signedAt is the X-Amz-Date of the request, or empty.
	signedAt string
	// reads is set when the request has read items. Its response then waits until they are synced.
	reads bool
}

// faulty reports whether a fault with the effect hits the request.
func (c *call) faulty(effect Effect) bool { return c.fault != nil && c.fault.Effect == effect }

// form returns the fault that has the effect on the form of the response.
func (c *call) form(effect Effect) (f Fault, found bool) {
	i := slices.IndexFunc(c.forms, func(f Fault) bool { return f.Effect == effect })
	if i < 0 {
		return Fault{}, false
	}
	return c.forms[i], true
}

// operation is one operation of DynamoDB. The file of an operation starts with the function that
// runs it, whose comment lists the checks in their order. The first check that fails ends the
// request. All operations have in common:
//   - The body is decoded first. JSON of the wrong type is a SerializationException, and unknown
//     parameters are ignored.
//   - "The model" is the service's model of the parameters: required parameters, enumerations,
//     lengths, ranges and names. A ValidationException reports up to ten violations together.
//   - "The placeholders" are ExpressionAttributeNames and ExpressionAttributeValues: their syntax
//     and values, and that the expressions use all of them.
//   - A table can be given by its name or its ARN. A missing table is a ResourceNotFoundException.
//   - With WithThroughput, an operation that reads or writes items can be throttled.
type operation struct {
	// run checks the request, performs it, and appends the body of the response.
	run func(*Engine, *call) error
	// targets returns the items or the table of the request, for faults and the log. It is called
	// before the request is checked: a request that can't be read has no targets.
	targets func(*Engine, *call) []target
	// responseMemory is the memory that a Server reserves for the response before the operation
	// starts, or 0 where a response is not larger than an item. The rest of a larger response is
	// added when its size is known. Without the reservation, clients that do not read their
	// responses could use more memory than a Server has.
	responseMemory int64
	// ofStreams is set for an operation of DynamoDB Streams, which has a target of its own.
	ofStreams bool
}

// operations has every operation by its name.
var operations = map[string]operation{
	"BatchExecuteStatement": {
		run: (*Engine).batchExecuteStatement, targets: (*Engine).batchExecuteStatementTargets, responseMemory: 1 << 20,
	},
	"BatchGetItem":              {run: (*Engine).batchGetItem, targets: (*Engine).batchGetItemTargets, responseMemory: 2 << 20},
	"BatchWriteItem":            {run: (*Engine).batchWriteItem, targets: (*Engine).batchWriteItemTargets},
	"CreateTable":               {run: (*Engine).createTable, targets: (*Engine).tableTargets},
	"DeleteItem":                {run: (*Engine).deleteItem, targets: (*Engine).deleteItemTargets},
	"DeleteTable":               {run: (*Engine).deleteTable, targets: (*Engine).tableTargets},
	"DescribeContinuousBackups": {run: (*Engine).describeContinuousBackups, targets: (*Engine).tableTargets},
	"DescribeEndpoints":         {run: (*Engine).describeEndpoints, targets: (*Engine).tableTargets},
	"DescribeLimits":            {run: (*Engine).describeLimits, targets: (*Engine).tableTargets},
	"DescribeStream":            {run: (*Engine).describeStream, targets: (*Engine).streamTargets, ofStreams: true},
	"DescribeTable":             {run: (*Engine).describeTable, targets: (*Engine).tableTargets},
	"DescribeTimeToLive":        {run: (*Engine).describeTimeToLive, targets: (*Engine).tableTargets},
	"ExecuteStatement": {
		run: (*Engine).executeStatement, targets: (*Engine).executeStatementTargets, responseMemory: 1 << 20,
	},
	"ExecuteTransaction": {
		run: (*Engine).executeTransaction, targets: (*Engine).executeTransactionTargets, responseMemory: 2 << 20,
	},
	"GetItem": {run: (*Engine).getItem, targets: (*Engine).getItemTargets},
	"GetRecords": {
		run: (*Engine).getRecords, targets: (*Engine).streamTargets, responseMemory: 2 << 20, ofStreams: true,
	},
	"GetShardIterator":   {run: (*Engine).getShardIterator, targets: (*Engine).streamTargets, ofStreams: true},
	"ListStreams":        {run: (*Engine).listStreams, targets: (*Engine).tableTargets, ofStreams: true},
	"ListTables":         {run: (*Engine).listTables, targets: (*Engine).tableTargets},
	"ListTagsOfResource": {run: (*Engine).listTagsOfResource, targets: (*Engine).tableTargets},
	"PutItem":            {run: (*Engine).putItem, targets: (*Engine).putItemTargets},
	"Query":              {run: (*Engine).query, targets: (*Engine).queryTargets, responseMemory: 1 << 20},
	"Scan":               {run: (*Engine).scan, targets: (*Engine).scanTargets, responseMemory: 1 << 20},
	"TagResource":        {run: (*Engine).tagResource, targets: (*Engine).tableTargets},
	"TransactGetItems": {
		run: (*Engine).transactGetItems, targets: (*Engine).transactGetItemsTargets, responseMemory: 2 << 20,
	},
	"TransactWriteItems": {run: (*Engine).transactWriteItems, targets: (*Engine).transactWriteItemsTargets},
	"UntagResource":      {run: (*Engine).untagResource, targets: (*Engine).tableTargets},
	"UpdateItem":         {run: (*Engine).updateItem, targets: (*Engine).updateItemTargets},
	"UpdateTable":        {run: (*Engine).updateTable, targets: (*Engine).tableTargets},
	"UpdateTimeToLive":   {run: (*Engine).updateTimeToLive, targets: (*Engine).tableTargets},
}
