package embedded

import "context"

// call is one request on its way through the engine.
type call struct {
	ctx context.Context //nolint:containedctx // a call is one request and lives as long as it
	// host is the one that the client sent the request to.
	host string
	body []byte
	// out is the body of the answer, which the operation appends to.
	out []byte
	// shot is the fault that hits the request, nil if none does, and damage what it does to the answer.
	fault  *requestFault
	damage damage
	// reads reports that the request has read what others may be writing.
	reads bool
}

// operations is the table of everything that a client can ask for.
var operations = map[string]func(*Engine, *call) error{
	"BatchExecuteStatement": (*Engine).batchExecuteStatement,
	"BatchGetItem":          (*Engine).batchGetItem,
	"BatchWriteItem":        (*Engine).batchWriteItem,
	"CreateTable":           (*Engine).createTable,
	"DeleteItem":            (*Engine).deleteItem,
	"DeleteTable":           (*Engine).deleteTable,
	"DescribeEndpoints":     (*Engine).describeEndpoints,
	"DescribeLimits":        (*Engine).describeLimits,
	"DescribeTable":         (*Engine).describeTable,
	"DescribeTimeToLive":    (*Engine).describeTimeToLive,
	"ExecuteStatement":      (*Engine).executeStatement,
	"ExecuteTransaction":    (*Engine).executeTransaction,
	"GetItem":               (*Engine).getItem,
	"ListTables":            (*Engine).listTables,
	"ListTagsOfResource":    (*Engine).listTagsOfResource,
	"PutItem":               (*Engine).putItem,
	"Query":                 (*Engine).query,
	"Scan":                  (*Engine).scan,
	"TagResource":           (*Engine).tagResource,
	"TransactGetItems":      (*Engine).transactGetItems,
	"TransactWriteItems":    (*Engine).transactWriteItems,
	"UntagResource":         (*Engine).untagResource,
	"UpdateItem":            (*Engine).updateItem,
	"UpdateTable":           (*Engine).updateTable,
	"UpdateTimeToLive":      (*Engine).updateTimeToLive,
}
