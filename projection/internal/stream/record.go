package stream

import (
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/dynamo/wire"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// triggers returns the persistence id that a record of the stream triggers, if any.
func triggers(g *engine.Group, record *wire.Record) (string, bool) {
	par, ok := parOf(record)
	if !ok {
		return "", false
	}
	return g.TriggeredBy(types.OperationType(record.Event), par, engine.ShowsPurge(record.NewImage))
}

// parOf returns the partition key of the item of a record.
func parOf(record *wire.Record) (string, bool) {
	par, ok := record.Keys[engine.AttrPar].(*dynamotypes.AttributeValueMemberS)
	if !ok {
		return "", false
	}
	return par.Value, true
}

// ParOf returns the partition key of the item of a record of the SDK.
func ParOf(record *types.Record) (string, bool) {
	if record.Dynamodb == nil {
		return "", false
	}
	par, ok := record.Dynamodb.Keys[engine.AttrPar].(*types.AttributeValueMemberS)
	if !ok {
		return "", false
	}
	return par.Value, true
}

// image converts the attributes of an image to the form of an item of a table.
func image(of map[string]types.AttributeValue) dynamo.Attributes {
	if of == nil {
		return nil
	}
	item := make(dynamo.Attributes, len(of))
	for name, v := range of {
		item[name] = value(v)
	}
	return item
}

// value converts a value of a stream to a value of a table. A value of an unknown type becomes a
// null, which no attribute of an event is.
func value(of types.AttributeValue) dynamotypes.AttributeValue {
	switch v := of.(type) {
	case *types.AttributeValueMemberS:
		return &dynamotypes.AttributeValueMemberS{Value: v.Value}
	case *types.AttributeValueMemberN:
		return &dynamotypes.AttributeValueMemberN{Value: v.Value}
	case *types.AttributeValueMemberB:
		return &dynamotypes.AttributeValueMemberB{Value: v.Value}
	case *types.AttributeValueMemberBOOL:
		return &dynamotypes.AttributeValueMemberBOOL{Value: v.Value}
	case *types.AttributeValueMemberSS:
		return &dynamotypes.AttributeValueMemberSS{Value: v.Value}
	case *types.AttributeValueMemberNS:
		return &dynamotypes.AttributeValueMemberNS{Value: v.Value}
	case *types.AttributeValueMemberBS:
		return &dynamotypes.AttributeValueMemberBS{Value: v.Value}
	case *types.AttributeValueMemberM:
		return &dynamotypes.AttributeValueMemberM{Value: image(v.Value)}
	case *types.AttributeValueMemberL:
		list := make([]dynamotypes.AttributeValue, len(v.Value))
		for i := range v.Value {
			list[i] = value(v.Value[i])
		}
		return &dynamotypes.AttributeValueMemberL{Value: list}
	}
	return &dynamotypes.AttributeValueMemberNULL{Value: true}
}
