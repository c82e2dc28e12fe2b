package embedded_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal/embedded"
)

func fixedClock() time.Time { return time.UnixMilli(1_800_000_000_500) }

// describe returns the result of DescribeTable without the parts that differ each time.
func describe(t *testing.T, engine *embedded.Engine, table string) map[string]any {
	t.Helper()
	got := ask(t, engine, "DescribeTable", `{"TableName":"`+table+`"}`)
	var response struct{ Table map[string]any }
	if err := json.Unmarshal([]byte(got), &response); err != nil || response.Table == nil {
		t.Fatal(got)
	}
	delete(response.Table, "TableId")
	return response.Table
}

func TestTablesAreCreatedUsedAndDeleted(t *testing.T) {
	engine := openMemory(t, embedded.WithClock(fixedClock))
	provisioned := strings.Replace(simpleTable, `"BillingMode":"PAY_PER_REQUEST"`,
		`"ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":2}`, 1)
	const description = `"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],"CreationDateTime":1800000000.5,"DeletionProtectionEnabled":false,` +
		`"ItemCount":0,"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],` +
		`"ProvisionedThroughput":{"NumberOfDecreasesToday":0,"ReadCapacityUnits":1,"WriteCapacityUnits":2},` +
		`"TableArn":"arn:aws:dynamodb:us-east-1:000000000000:table/tab",`
	run(t, engine, []step{
		{"CreateTable", provisioned, `{"TableDescription":{` + description + `"TableId":"…`},
		{"CreateTable", provisioned, "ResourceInUseException: Table already exists: tab"},
		{"ListTables", `{}`, `{"TableNames":["tab"]}`},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"}}}`, `{}`},
		{"DeleteTable", `{"TableName":"tab"}`, `{"TableDescription":{…`},
		{"DeleteTable", `{"TableName":"tab"}`, "ResourceNotFoundException: Requested resource not found: Table: tab not found"},
		{"DescribeTable", `{"TableName":"tab"}`, "ResourceNotFoundException: Requested resource not found: Table: tab not found"},
		{"GetItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}}}`, "ResourceNotFoundException: Requested resource not found"},
		{"CreateTable", provisioned, `{"TableDescription":{…`},
		{"GetItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}}}`, `{}`},
	})
	got := encode(t, describe(t, engine, "tab"))
	want := `{` + description + `"TableName":"tab","TableSizeBytes":0,"TableStatus":"ACTIVE"}`
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestTablesAreDescribedWithTheirIndexes(t *testing.T) {
	engine := openWith(t, richTable)
	fill(t, engine)
	got := describe(t, engine, "rich")
	if got["ItemCount"] != 12.0 || got["TableSizeBytes"].(float64) < 12*20 {
		t.Errorf("size: %v items, %v bytes", got["ItemCount"], got["TableSizeBytes"])
	}
	global, local := encode(t, got["GlobalSecondaryIndexes"]), encode(t, got["LocalSecondaryIndexes"])
	const first = `[{"IndexArn":"arn:aws:dynamodb:us-east-1:000000000000:table/rich/index/group","IndexName":"group","IndexSizeBytes":0,` +
		`"IndexStatus":"ACTIVE","ItemCount":0,` +
		`"KeySchema":[{"AttributeName":"grp","KeyType":"HASH"},{"AttributeName":"when","KeyType":"RANGE"}],"Projection":{"NonKeyAttributes":["extra"],` +
		`"ProjectionType":"INCLUDE"},`
	if !strings.HasPrefix(global, first) || !strings.Contains(local, `"Projection":{"ProjectionType":"KEYS_ONLY"}`) {
		t.Errorf("got %s\n%s", global, local)
	}
}

func TestWaitersFindTablesAndIndexesReady(t *testing.T) {
	client := clientOf(openMemory(t))
	createTable(t, client, "orders")
	err := dynamodb.NewTableExistsWaiter(client).Wait(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("orders")}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	must(client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("orders")}))(t)
	err = dynamodb.NewTableNotExistsWaiter(client).Wait(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("orders")}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
}

func TestCreateTableIsChecked(t *testing.T) {
	change := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(simpleTable) }
	rich := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(richTable) }
	const mode = `"BillingMode":"PAY_PER_REQUEST"`
	run(t, openMemory(t), []step{
		{"CreateTable", `{}`, "ValidationException: The parameter 'TableName' is required but was not present in the request"},
		{"CreateTable", change(`"tab"`, `"ab"`), "ValidationException: 1 validation error detected: Value 'ab' at 'tableName' failed to satisfy constraint: " +
			"Member must have length greater than or equal to 3"},
		{"CreateTable", change(`"tab"`, `"a b c"`),
			"ValidationException: 1 validation error detected: Value 'a b c' at 'tableName' failed to satisfy constraint: Member must satisfy regular " +
				"expression pattern: [a-zA-Z0-9_.-]+"},
		{"CreateTable", `{"TableName":"tab"}`, "ValidationException: 2 validation errors detected: " +
			"Value null at 'attributeDefinitions' failed to satisfy constraint: Member must not be null; " +
			"Value null at 'keySchema' failed to satisfy constraint: Member must not be null"},
		{"CreateTable", change(mode+",", ""), wrong + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"},
		{"CreateTable", change(mode, mode+`,"ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1}`),
			wrong + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"},
		{"CreateTable", change(mode, `"ProvisionedThroughput":{"ReadCapacityUnits":0,"WriteCapacityUnits":1}`),
			"ValidationException: 1 validation error detected: Value '0' at 'provisionedThroughput.readCapacityUnits' failed to satisfy constraint: Member " +
				"must have value greater than or equal to 1"},
		{"CreateTable", change(`"AttributeType":"S"`, `"AttributeType":"X"`),
			"ValidationException: 1 validation error detected: Value 'X' at 'attributeDefinitions.1.member.attributeType' failed to satisfy constraint: Member " +
				"must satisfy enum value set: [B, N, S]"},
		{"CreateTable", change(`"KeyType":"HASH"`, `"KeyType":"RANGE"`), "ValidationException: Invalid KeySchema: The first KeySchemaElement is not a HASH key type"},
		{"CreateTable", change(`[{"AttributeName":"pk","KeyType":"HASH"}]`, `[{"AttributeName":"x","KeyType":"HASH"}]`),
			wrong + "Some index key attributes are not defined in AttributeDefinitions. Keys: [x], AttributeDefinitions: [pk]"},
		{"CreateTable", change(`"KeyType":"HASH"}`, `"KeyType":"HASH"},{"AttributeName":"pk","KeyType":"RANGE"}`),
			"ValidationException: Invalid KeySchema: Some index key attribute have no definition"},
		{"CreateTable", change(`"AttributeType":"S"}`, `"AttributeType":"S"},{"AttributeName":"x","AttributeType":"S"}`),
			wrong + "Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions"},
		{"CreateTable", rich(`"local"`, `"all"`), wrong + "Duplicate index name: all"},
		{"CreateTable", rich(`"KEYS_ONLY"`, `"KEYS_ONLY","NonKeyAttributes":["a"]`), wrong + "ProjectionType is KEYS_ONLY, but NonKeyAttributes is specified"},
		{"CreateTable", rich(`[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"when"`, `[{"AttributeName":"grp","KeyType":"HASH"},{"AttributeName":"when"`),
			wrong + "Index KeySchema does not have the same leading hash key as table KeySchema for index: local. index hash key: grp, table hash key: pk"},
	})
}

func TestListTablesReturnsPages(t *testing.T) {
	engine := openMemory(t)
	for i := range 5 {
		ask(t, engine, "CreateTable", strings.Replace(simpleTable, `"tab"`, fmt.Sprintf(`"tab%d"`, i), 1))
	}
	run(t, engine, []step{
		{"ListTables", `{"Limit":2}`, `{"LastEvaluatedTableName":"tab1","TableNames":["tab0","tab1"]}`},
		{"ListTables", `{"Limit":3,"ExclusiveStartTableName":"tab1"}`, `{"TableNames":["tab2","tab3","tab4"]}`},
		{"ListTables", `{"ExclusiveStartTableName":"tab33"}`, `{"TableNames":["tab4"]}`},
		{"ListTables", `{"ExclusiveStartTableName":"zzz"}`, `{"TableNames":[]}`},
		{"ListTables", `{"Limit":0}`, "ValidationException: 1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: Member must " +
			"have value greater than or equal to 1"},
		{"ListTables", `{"Limit":101}`, "ValidationException: 1 validation error detected: Value '101' at 'limit' failed to satisfy constraint: Member must " +
			"have value less than or equal to 100"},
	})
}

func TestTablesAreUpdated(t *testing.T) {
	engine := openWith(t, simpleTable)
	const one = `{"TableName":"tab","ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1}`
	run(t, engine, []step{
		{"UpdateTable", `{"TableName":"tab"}`, "ValidationException: At least one of ProvisionedThroughput, …"},
		{"UpdateTable", one + `}`, wrong + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"},
		{"UpdateTable", one + `,"BillingMode":"PROVISIONED"}`, `{"TableDescription":{…`},
		{"UpdateTable", one + `}`, "ValidationException: The provisioned throughput for the table will not change. The requested value equals the current value. …"},
		{"UpdateTable", `{"TableName":"tab","DeletionProtectionEnabled":true}`, `{"TableDescription":{…`},
		{"DeleteTable", `{"TableName":"tab"}`, "ValidationException: Resource cannot be deleted as it is currently protected against deletion. Disable " +
			"deletion protection first."},
		{"UpdateTable", `{"TableName":"tab","DeletionProtectionEnabled":false}`, `{"TableDescription":{…`},
		{"DeleteTable", `{"TableName":"tab"}`, `{"TableDescription":{…`},
	})
}

// waitForIndexes waits until no index of the table is being created.
func waitForIndexes(t *testing.T, engine *embedded.Engine, table string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for describe(t, engine, table)["TableStatus"] != "ACTIVE" {
		if time.Now().After(deadline) {
			t.Fatal("the index does not become active")
		}
	}
}

const newIndex = `{"TableName":"tab","AttributeDefinitions":[{"AttributeName":"grp","AttributeType":"N"}],"GlobalSecondaryIndexUpdates":[{"Create":{
	"IndexName":"idx","KeySchema":[{"AttributeName":"grp","KeyType":"HASH"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}}]}`

func TestIndex_NewIndexGetsPresentAndNewItems(t *testing.T) {
	engine := openWith(t, simpleTable)
	put := func(i int) {
		t.Helper()
		grp := fmt.Sprintf(`"grp":{"N":"%d"}`, i%2)
		if i%10 == 0 {
			grp = `"grp":{"S":"not a number"}`
		}
		if got := ask(t, engine, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"pk":{"S":"%d"},"data":{"S":"x"},%s}}`, i, grp)); got != "{}" {
			t.Fatal(got)
		}
	}
	for i := range 1000 {
		put(i)
	}
	run(t, engine, []step{{"UpdateTable", newIndex, `{"TableDescription":{…`}})
	for i := 1001; i < 1500; i++ {
		if i%10 != 0 {
			put(i)
		}
		ask(t, engine, "DeleteItem", fmt.Sprintf(`{"TableName":"tab","Key":{"pk":{"S":"%d"}}}`, 1500-i))
	}
	waitForIndexes(t, engine, "tab")
	want := 0
	table := read(t, engine, "Scan", `{"TableName":"tab"}`)
	for _, item := range table.Items {
		if item["grp"]["N"] != nil {
			want++
		}
	}
	index := read(t, engine, "Scan", `{"TableName":"tab","IndexName":"idx"}`)
	if index.Count != want || want < 500 {
		t.Errorf("the index has %d entries, want %d", index.Count, want)
	}
	run(t, engine, []step{
		{"UpdateTable", newIndex, "ValidationException: Attempting to create an index which already exists"},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"z"},"grp":{"S":"s"}}}`, wrong + "Type mismatch for Index Key grp Expected: N Actual: S IndexName: idx"},
		{"UpdateTable", `{"TableName":"tab","GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"idx"}}]}`, `{"TableDescription":{…`},
		{"UpdateTable", `{"TableName":"tab","GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"idx"}}]}`, "ResourceNotFoundException: Requested resource not found"},
		{"Scan", `{"TableName":"tab","IndexName":"idx"}`, "ValidationException: The table does not have the specified index: idx"},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"z"},"grp":{"S":"s"}}}`, `{}`},
	})
	if attributes := encode(t, describe(t, engine, "tab")["AttributeDefinitions"]); attributes != `[{"AttributeName":"pk","AttributeType":"S"}]` {
		t.Errorf("attributes after the index is gone: %s", attributes)
	}
}

func TestTags(t *testing.T) {
	const arn = `"ResourceArn":"arn:aws:dynamodb:us-east-1:000000000000:table/tab"`
	run(t, openWith(t, strings.Replace(simpleTable, `"tab"`, `"tab","Tags":[{"Key":"a","Value":"1"}]`, 1)), []step{
		{"TagResource", `{` + arn + `,"Tags":[{"Key":"b","Value":"2"},{"Key":"c","Value":""}]}`, ``},
		{"UntagResource", `{` + arn + `,"TagKeys":["a","none"]}`, ``},
		{"ListTagsOfResource", `{` + arn + `}`, `{"Tags":[{"Key":"b","Value":"2"},{"Key":"c","Value":""}]}`},
		{"TagResource", `{` + arn + `,"Tags":[]}`, "ValidationException: Atleast one Tag needs to be provided as Input."},
		{"ListTagsOfResource", `{"ResourceArn":"tab"}`, "ValidationException: Invalid TableArn: Invalid ResourceArn provided as input tab"},
		{"ListTagsOfResource", `{"ResourceArn":"arn:aws:dynamodb:us-east-1:000000000000:table/none"}`,
			"AccessDeniedException: User is not authorized to perform: dynamodb:ListTagsOfResource on resource: arn:aws:dynamodb:us-east-1:000000000000:table/none"},
	})
}

func TestLimitsAndEndpoints(t *testing.T) {
	run(t, openMemory(t), []step{
		{"DescribeLimits", `{}`, `{"AccountMaxReadCapacityUnits":80000,"AccountMaxWriteCapacityUnits":80000,"TableMaxReadCapacityUnits":40000,` +
			`"TableMaxWriteCapacityUnits":40000}`},
		{"DescribeEndpoints", `{}`, `{"Endpoints":[{"Address":"engine","CachePeriodInMinutes":1440}]}`},
	})
}

func TestItemsExpireByTheClock(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	engine := openMemory(t, embedded.WithClock(func() time.Time { return now }), embedded.WithSweepInterval(0))
	const enable = `{"TableName":"rich","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"expires"}}`
	item := func(sk int, expires string) string {
		return fmt.Sprintf(`{"TableName":"rich","Item":{"pk":{"S":"a"},"sk":{"N":"%d"},"grp":{"S":"g"},"when":{"N":"1"},"expires":%s}}`, sk, expires)
	}
	run(t, engine, []step{
		{"CreateTable", richTable, `{"TableDescription":{…`},
		{"DescribeTimeToLive", `{"TableName":"rich"}`, `{"TimeToLiveDescription":{"TimeToLiveStatus":"DISABLED"}}`},
		{"UpdateTimeToLive", strings.Replace(enable, "true", "false", 1), "ValidationException: TimeToLive is already disabled"},
		{"UpdateTimeToLive", enable, `{"TimeToLiveSpecification":{"AttributeName":"expires","Enabled":true}}`},
		{"UpdateTimeToLive", enable, "ValidationException: TimeToLive is already enabled"},
		{"DescribeTimeToLive", `{"TableName":"rich"}`, `{"TimeToLiveDescription":{"AttributeName":"expires","TimeToLiveStatus":"ENABLED"}}`},
		{"PutItem", item(1, `{"N":"1800000010"}`), `{}`},
		{"PutItem", item(2, `{"N":"1800000020"}`), `{}`},
		{"PutItem", item(3, `{"S":"1800000010"}`), `{}`},
		{"PutItem", item(4, `{"N":"1"}`), `{}`},
	})
	for i := range 60 {
		ask(t, engine, "PutItem", item(100+i, `{"N":"1800000009.5"}`))
	}
	sweep := func(want int) {
		t.Helper()
		if n, err := engine.SweepExpired(); n != want || err != nil {
			t.Errorf("at %d: deleted %d items, %v; want %d", now.Unix(), n, err, want)
		}
	}
	sweep(0)
	now = time.Unix(1_800_000_011, 0)
	sweep(61)
	sweep(0)
	now = time.Unix(1_800_000_021, 0)
	sweep(1)
	for _, index := range []string{"", `,"IndexName":"group"`, `,"IndexName":"local"`} {
		if page := read(t, engine, "Scan", `{"TableName":"rich"`+index+`}`); page.keys() != "a3 a4" {
			t.Errorf("left%s: %s; want the items without a number, or with a number that is years ago", index, page.keys())
		}
	}
	run(t, engine, []step{{"UpdateTimeToLive", strings.Replace(enable, "true", "false", 1), `{"TimeToLiveSpecification":{"AttributeName":"expires","Enabled":false}}`}})
}

func TestExpiredItemsAreDeletedInTheBackground(t *testing.T) {
	engine := openMemory(t, embedded.WithSweepInterval(time.Millisecond))
	expired := fmt.Sprint(time.Now().Add(-time.Minute).Unix())
	run(t, engine, []step{
		{"CreateTable", simpleTable, `{"TableDescription":{…`},
		{"UpdateTimeToLive", `{"TableName":"tab","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"e"}}`, `{…`},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"},"e":{"N":"` + expired + `"}}}`, `{}`},
	})
	deadline := time.Now().Add(time.Minute)
	for ask(t, engine, "GetItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}}}`) != `{}` {
		if time.Now().After(deadline) {
			t.Fatal("the item is still there")
		}
	}
}

func TestItemCollectionMetrics(t *testing.T) {
	run(t, openWith(t, richTable, simpleTable), []step{
		{"PutItem", `{"TableName":"rich","Item":{"pk":{"S":"a"},"sk":{"N":"1"}},"ReturnItemCollectionMetrics":"SIZE"}`,
			`{"ItemCollectionMetrics":{"ItemCollectionKey":{"pk":{"S":"a"}},"SizeEstimateRangeGB":[0,1]}}`},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"}},"ReturnItemCollectionMetrics":"SIZE"}`, `{}`},
		{"BatchWriteItem", `{"RequestItems":{"rich":[{"DeleteRequest":{"Key":{"pk":{"S":"a"},"sk":{"N":"1"}}}}]},"ReturnItemCollectionMetrics":"SIZE"}`,
			`{"ItemCollectionMetrics":{"rich":[{"ItemCollectionKey":{"pk":{"S":"a"}},"SizeEstimateRangeGB":[0,1]}]},"UnprocessedItems":{}}`},
	})
}
