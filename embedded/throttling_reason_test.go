package embedded_test

import (
	"strings"
	"testing"
)

func TestThrottlingReason_OfEachOperation(t *testing.T) {
	const arn = `"resource":"arn:aws:dynamodb:us-east-1:000000000000:table/rich`
	reason := func(member, name, resource string) string {
		return ` {"` + member + `":[{"reason":"` + name + `",` + arn + resource + `"}]}`
	}
	const (
		put     = `{"TableName":"rich","Item":{"pk":{"S":"a"},"sk":{"N":"1"}}}`
		query   = `{"TableName":"rich","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}`
		indexed = `{"TableName":"rich","IndexName":"all","KeyConditionExpression":"grp = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}`

		exceeded = "ProvisionedThroughputExceededException: The level of configured provisioned throughput for the table was exceeded. " +
			"Consider increasing your provisioning level with the UpdateTable API."
		onDemand = "ThrottlingException: Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling " +
			"your table or index so please try again shortly. If exceptions persist, check if you have a hot key."
		account = "RequestLimitExceeded: Throughput exceeds the current throughput limit for your account. Please contact AWS Support at " +
			"https://aws.amazon.com/support to request a limit increase"
	)
	for effect, steps := range map[string][]step{
		"throughput-exceeded": {
			{"PutItem", put, exceeded + reason("ThrottlingReasons", "TableWriteProvisionedThroughputExceeded", "")},
			{"Query", query, exceeded + reason("ThrottlingReasons", "TableReadProvisionedThroughputExceeded", "")},
			{"Query", indexed, exceeded + reason("ThrottlingReasons", "IndexReadProvisionedThroughputExceeded", "/index/all")},
		},
		"throttling": {
			{"PutItem", put, onDemand + reason("throttlingReasons", "TableWriteKeyRangeThroughputExceeded", "")},
			{"Scan", `{"TableName":"rich"}`, onDemand + reason("throttlingReasons", "TableReadKeyRangeThroughputExceeded", "")},
			{"TransactGetItems", `{"TransactItems":[{"Get":{"TableName":"rich","Key":{"pk":{"S":"a"},"sk":{"N":"1"}}}}]}`,
				onDemand + reason("throttlingReasons", "TableReadKeyRangeThroughputExceeded", "")},
			{"DescribeTable", `{"TableName":"rich"}`, onDemand},
			{"ListTables", `{}`, onDemand},
		},
		"request-limit": {
			{"PutItem", put, account + reason("ThrottlingReasons", "TableWriteAccountLimitExceeded", "")},
		},
	} {
		t.Run(effect, func(t *testing.T) {
			engine := openWith(t, richTable)
			inject(t, engine, effect)
			run(t, engine, steps)
		})
	}
}

func TestThrottlingReason_TableKeyOrIndex(t *testing.T) {
	engine, client, _ := limitedEngine(t)
	createProvisioned(t, client, 5, 2, 1)
	throttled := func(operation, body, want string) {
		t.Helper()
		for range 10_000 {
			if got := ask(t, engine, operation, body); len(got) > 0 && got[0] != '{' {
				if !strings.Contains(got, want) {
					t.Errorf("%s: %s, want %s", operation, got, want)
				}
				return
			}
		}
		t.Errorf("%s is never throttled", operation)
	}
	const arn = "arn:aws:dynamodb:us-east-1:000000000000:table/"
	throttled("GetItem", `{"TableName":"orders","Key":{"pk":{"S":"a"}}}`, `"TableReadProvisionedThroughputExceeded","resource":"`+arn+`orders"`)
	throttled("PutItem", `{"TableName":"orders","Item":{"pk":{"S":"a"}}}`, `"TableWriteProvisionedThroughputExceeded","resource":"`+arn+`orders"`)
	createTable(t, client, "free")
	throttled("PutItem", `{"TableName":"free","Item":{"pk":{"S":"a"},"sk":{"N":"1"}}}`, `"TableWriteKeyRangeThroughputExceeded","resource":"`+arn+`free"`)
}

func TestThrottlingReason_NamesIndex(t *testing.T) {
	engine, client, clock := limitedEngine(t)
	createProvisioned(t, client, 5, 1000, 1)
	clock.now = clock.now.Add(1)
	const want = `"IndexWriteProvisionedThroughputExceeded","resource":"arn:aws:dynamodb:us-east-1:000000000000:table/orders/index/owners"`
	for _, pk := range []string{"a", "b", "c"} {
		got := ask(t, engine, "PutItem", `{"TableName":"orders","Item":{"pk":{"S":"`+pk+`"},"owner":{"S":"o"}}}`)
		if got != "{}" {
			if !strings.Contains(got, want) {
				t.Errorf("%s, want %s", got, want)
			}
			return
		}
	}
	t.Error("the index is never throttled")
}
