package embedded_test

import (
	"strings"
	"testing"
)

func TestWritesReturnTheRequestedAttributes(t *testing.T) {
	run(t, openWith(t, simpleTable), []step{
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"},"n":{"N":"1.0"}}}`, `{}`},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"},"n":{"N":"2"}},"ReturnValues":"ALL_OLD"}`,
			`{"Attributes":{"n":{"N":"1"},"pk":{"S":"a"}}}`},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"b"}},"ReturnValues":"ALL_OLD"}`, `{}`},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"b"}},"ReturnValues":"ALL_NEW"}`,
			"ValidationException: 1 validation error detected: ReturnValues can only be ALL_OLD or NONE"},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"}},"ConditionExpression":"attribute_not_exists(pk)"}`,
			"ConditionalCheckFailedException: The conditional request failed"},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"}},"ConditionExpression":"attribute_not_exists(pk)","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`,
			`ConditionalCheckFailedException: The conditional request failed {"Item":{"n":{"N":"2"},"pk":{"S":"a"}}}`},
		{"UpdateItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}},"UpdateExpression":"SET n = n + :one, m = :m REMOVE x",` +
			`"ExpressionAttributeValues":{":one":{"N":"1"},":m":{"M":{"a":{"L":[]}}}},"ReturnValues":"UPDATED_NEW"}`,
			`{"Attributes":{"m":{"M":{"a":{"L":[]}}},"n":{"N":"3"}}}`},
		{"UpdateItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}},"UpdateExpression":"SET n = :n","ExpressionAttributeValues":{":n":{"N":"4"}},"ReturnValues":"UPDATED_OLD"}`,
			`{"Attributes":{"n":{"N":"3"}}}`},
		{"UpdateItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}},"UpdateExpression":"REMOVE m","ReturnValues":"ALL_NEW"}`,
			`{"Attributes":{"n":{"N":"4"},"pk":{"S":"a"}}}`},
		{"UpdateItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}},"UpdateExpression":"REMOVE m","ReturnValues":"ALL_OLD"}`,
			`{"Attributes":{"n":{"N":"4"},"pk":{"S":"a"}}}`},
		{"UpdateItem", `{"TableName":"tab","Key":{"pk":{"S":"new"}},"UpdateExpression":"ADD hits :one","ExpressionAttributeValues":{":one":{"N":"1"}},` +
			`"ReturnValues":"ALL_NEW"}`,
			`{"Attributes":{"hits":{"N":"1"},"pk":{"S":"new"}}}`},
		{"UpdateItem", `{"TableName":"tab","Key":{"pk":{"S":"bare"}}}`, `{}`},
		{"GetItem", `{"TableName":"tab","Key":{"pk":{"S":"bare"}}}`, `{"Item":{"pk":{"S":"bare"}}}`},
		{"DeleteItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}},"ReturnValues":"ALL_OLD"}`, `{"Attributes":{"n":{"N":"4"},"pk":{"S":"a"}}}`},
		{"DeleteItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}},"ReturnValues":"ALL_OLD"}`, `{}`},
		{"DeleteItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}},"ConditionExpression":"attribute_exists(pk)"}`,
			"ConditionalCheckFailedException: The conditional request failed"},
		{"GetItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}}}`, `{}`},
		{"GetItem", `{"TableName":"tab","Key":{"pk":{"S":"new"}},"ProjectionExpression":"#h","ExpressionAttributeNames":{"#h":"hits"}}`,
			`{"Item":{"hits":{"N":"1"}}}`},
	})
}

func TestWrites_AreCheckedBeforeTheTable(t *testing.T) {
	long, large := strings.Repeat("k", 2049), strings.Repeat("x", 400<<10)
	run(t, openWith(t, simpleTable, richTable), []step{
		{"PutItem", `{"TableName":"tab","Item":{"n":{"N":"1"}}}`, wrong + "Missing the key pk in the item"},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"N":"1"}}}`, wrong + "Type mismatch for key pk expected: S actual: N"},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":""}}}`,
			"ValidationException: One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk"},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"` + long + `"}}}`,
			wrong + "Size of hashkey has exceeded the maximum size limit of2048 bytes"},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"},"d":{"S":"` + large + `"}}}`,
			"ValidationException: Item size has exceeded the maximum allowed size"},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"},"d":{"S":"` + large[:len(large)-len("pk")-len("a")-len("d")] + `"}}}`, "{}"},
		{"UpdateItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}},"UpdateExpression":"SET e = :e","ExpressionAttributeValues":{":e":{"S":""}}}`,
			"ValidationException: Item size to update has exceeded the maximum allowed size"},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"},"x":{}}}`,
			"ValidationException: 1 validation error detected: Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"},
		{"PutItem", `{"TableName":"rich","Item":{"pk":{"S":"a"},"sk":{"N":"1"},"grp":{"N":"1"}}}`,
			wrong + "Type mismatch for Index Key grp Expected: S Actual: N IndexName: group"},
		{"PutItem", `{"TableName":"rich","Item":{"pk":{"S":"a"},"sk":{"N":"1"},"grp":{"S":""}}}`,
			"ValidationException: One or more parameter values are not valid. A value specified for a secondary index key is not supported. " +
				"The AttributeValue for a key attribute cannot contain an empty string value. IndexName: group, IndexKey: grp"},
		{"UpdateItem", `{"TableName":"rich","Key":{"pk":{"S":"a"},"sk":{"N":"1"}},"UpdateExpression":"SET grp = :n","ExpressionAttributeValues":{":n":{"N":"1"}}}`,
			wrong + "Type mismatch for Index Key grp Expected: S Actual: N IndexName: group"},
		{"UpdateItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}},"UpdateExpression":"SET pk = :n","ExpressionAttributeValues":{":n":{"S":"b"}}}`,
			wrong + "Cannot update attribute pk. This attribute is part of the key"},
		{"GetItem", `{"TableName":"tab","Key":{"pk":{"S":"a"},"x":{"S":"b"}}}`, "ValidationException: The provided key element does not match the schema"},
		{"GetItem", `{"TableName":"tab","Key":{"x":{"S":"a"}}}`, "ValidationException: The provided key element does not match the schema"},
		{"DeleteItem", `{"TableName":"tab","Key":{"pk":{"B":"YQ=="}}}`, "ValidationException: The provided key element does not match the schema"},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"}},"ExpressionAttributeNames":{"#a":"b"}}`,
			"ValidationException: 1 validation error detected: ExpressionAttributeNames can only be specified when using expressions"},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"}},"ExpressionAttributeValues":{":a":{"S":"b"}}}`,
			"ValidationException: 1 validation error detected: ExpressionAttributeValues can only be specified when using expressions"},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"}},"ConditionExpression":"pk = :a","ExpressionAttributeValues":{":a":{"S":"b"},":b":{"S":"b"}}}`,
			"ValidationException: Value provided in ExpressionAttributeValues unused in expressions: keys: {:b}"},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"}},"ConditionExpression":"pk = :a","Expected":{"pk":{"Exists":false}},` +
			`"ExpressionAttributeValues":{":a":{"S":"b"}}}`,
			"ValidationException: 1 validation error detected: Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {Expected} " +
				"Expression parameters: {ConditionExpression}"},
		{"PutItem", `{"TableName":"ab","Item":{"pk":{"S":"a"}},"ReturnConsumedCapacity":"ALL","ReturnValues":"SOME"}`,
			"ValidationException: 3 validation errors detected: " +
				"Value 'ALL' at 'returnConsumedCapacity' failed to satisfy constraint: Member must satisfy enum value set: [INDEXES, TOTAL, NONE]; " +
				"Value 'ab' at 'tableName' failed to satisfy constraint: Member must have length greater than or equal to 3; " +
				"Value 'SOME' at 'returnValues' failed to satisfy constraint: Member must satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]"},
		{"PutItem", `{"TableName":"a b c","Item":{}}`,
			"ValidationException: 1 validation error detected: Value 'a b c' at 'tableName' failed to satisfy constraint: Member must satisfy regular " +
				"expression pattern: [a-zA-Z0-9_.-]+"},
		{"PutItem", `{"TableName":"arn:aws:dynamodb:us-east-1:000000000000:table/tab","Item":{"pk":{"S":"by-arn"}}}`, `{}`},
		{"GetItem", `{"TableName":"tab","Key":{"pk":{"S":"by-arn"}}}`, `{"Item":{"pk":{"S":"by-arn"}}}`},
	})
}

func TestLegacyParametersOfWritesWork(t *testing.T) {
	run(t, openWith(t, simpleTable), []step{
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"},"n":{"N":"1"}},"Expected":{"pk":{"Exists":false}}}`, `{}`},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"},"n":{"N":"1"}},"Expected":{"pk":{"Exists":false}}}`,
			"ConditionalCheckFailedException: The conditional request failed"},
		{"UpdateItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}},"AttributeUpdates":{"n":{"Action":"ADD","Value":{"N":"4"}},"m":{"Value":{"S":"x"}}},` +
			`"Expected":{"n":{"ComparisonOperator":"LT","AttributeValueList":[{"N":"2"}]}},"ReturnValues":"ALL_NEW"}`,
			`{"Attributes":{"m":{"S":"x"},"n":{"N":"5"},"pk":{"S":"a"}}}`},
		{"UpdateItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}},"AttributeUpdates":{"m":{"Action":"DELETE"}},"ReturnValues":"UPDATED_OLD"}`,
			`{"Attributes":{"m":{"S":"x"}}}`},
		{"UpdateItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}},"AttributeUpdates":{"m":{"Action":"PUT"}}}`,
			"ValidationException: 1 validation error detected: One or more parameter values were invalid: Only DELETE action is allowed when no attribute value is specified"},
		{"DeleteItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}},"Expected":{"n":{"Value":{"N":"5"}},"m":{"Exists":true,"Value":{"S":"x"}}},` +
			`"ConditionalOperator":"OR"}`, `{}`},
		{"GetItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}},"AttributesToGet":["n"]}`, `{}`},
		{"GetItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}},"AttributesToGet":["n","n"]}`, wrong + "Duplicate value in attribute name: n"},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"}},"Expected":{"n":{"ComparisonOperator":"LIKE"}}}`,
			"ValidationException: 1 validation error detected: Value 'LIKE' at 'expected.n.member.comparisonOperator' failed to satisfy constraint: Member " +
				"must satisfy enum value set: …"},
	})
}
