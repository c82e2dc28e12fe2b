package layout

import (
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// JSON returns an item in DynamoDB's JSON, as its own tools read and write it.
func JSON(item Attributes) (json.RawMessage, error) {
	text, err := json.Marshal(jsonAttributes(item))
	if err != nil {
		return nil, fmt.Errorf("encode an item as JSON: %w", err)
	}
	return text, nil
}

func jsonAttributes(item Attributes) map[string]any {
	all := make(map[string]any, len(item))
	for name, v := range item {
		all[name] = jsonValue(v)
	}
	return all
}

// jsonValue returns a value under the name of its type. Bytes are in base64.
func jsonValue(v types.AttributeValue) any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}
	case *types.AttributeValueMemberB:
		return map[string]any{"B": v.Value}
	case *types.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": v.Value}
	case *types.AttributeValueMemberNULL:
		return map[string]any{"NULL": v.Value}
	case *types.AttributeValueMemberSS:
		return map[string]any{"SS": v.Value}
	case *types.AttributeValueMemberNS:
		return map[string]any{"NS": v.Value}
	case *types.AttributeValueMemberBS:
		return map[string]any{"BS": v.Value}
	case *types.AttributeValueMemberM:
		return map[string]any{"M": jsonAttributes(v.Value)}
	case *types.AttributeValueMemberL:
		list := make([]any, len(v.Value))
		for i, element := range v.Value {
			list[i] = jsonValue(element)
		}
		return map[string]any{"L": list}
	}
	return nil
}
