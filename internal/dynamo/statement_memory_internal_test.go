package dynamo

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestStatementMemory_ClearedBeforeReuse(t *testing.T) {
	t.Parallel()
	m := takeStatementMemory(2, 3)
	value := &types.AttributeValueMemberS{Value: "payload"}
	for i := range m.statements {
		m.statements[i] = types.BatchStatementRequest{Statement: aws.String("INSERT"), Parameters: []types.AttributeValue{value}}
	}
	statements := m.statements
	_ = append(m.parameters, value, value) // of an item that needs another statement
	parameters := append(m.parameters, value)[:2]
	m.parameters = parameters[:1]
	m.release()
	for i := range statements {
		if statements[i].Statement != nil || statements[i].Parameters != nil {
			t.Errorf("statement %d is still there", i)
		}
	}
	for i, v := range parameters {
		if v != nil {
			t.Errorf("parameter %d is still there", i)
		}
	}
}
