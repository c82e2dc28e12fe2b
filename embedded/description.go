package embedded

import (
	"encoding/json"
	"fmt"
)

// object is a JSON object of a response that is encoded by encoding/json.
type object = map[string]any

// respond makes the object the body of the response.
func (c *call) respond(response object) error {
	encoded, err := json.Marshal(response)
	if err != nil {
		return fmt.Errorf("encoding the response: %w", err)
	}
	c.out = append(c.out, encoded...)
	return nil
}

func unixSeconds(milliseconds int64) float64 { return float64(milliseconds) / 1000 }

// describe returns the description of the table, as in DescribeTable, with the status. The caller
// holds the table's lock.
func (t *table) describe(status string) object {
	description := object{
		"TableName":                 t.Name,
		"TableId":                   t.UUID,
		"TableArn":                  t.arn(),
		"TableStatus":               status,
		"CreationDateTime":          unixSeconds(t.CreatedAt),
		"KeySchema":                 describeKey(t.Key),
		"AttributeDefinitions":      t.describeAttributes(),
		"ItemCount":                 t.items.Load(),
		"TableSizeBytes":            t.bytes.Load(),
		"ProvisionedThroughput":     describeThroughput(t.Throughput),
		"DeletionProtectionEnabled": t.Protected,
	}
	if t.OnDemandAt != 0 {
		description["BillingModeSummary"] = object{
			"BillingMode":                       t.Billing,
			"LastUpdateToPayPerRequestDateTime": unixSeconds(t.OnDemandAt),
		}
	}
	if t.Class != "" {
		description["TableClassSummary"] = object{"TableClass": t.Class}
	}
	t.Settings.describe(description)
	t.describeStream(description)
	local, global := t.describeIndexes(status)
	if len(local) > 0 {
		description["LocalSecondaryIndexes"] = local
	}
	if len(global) > 0 {
		description["GlobalSecondaryIndexes"] = global
	}
	return description
}

func (t *table) describeAttributes() []object {
	attributes := make([]object, 0, len(t.Attributes))
	for _, name := range t.Attributes {
		attributes = append(attributes, object{"AttributeName": name, "AttributeType": t.Kinds[name].String()})
	}
	return attributes
}

func describeKey(key keySchema) []object {
	elements := []object{{"AttributeName": key.Hash, "KeyType": "HASH"}}
	if key.Range != "" {
		elements = append(elements, object{"AttributeName": key.Range, "KeyType": "RANGE"})
	}
	return elements
}

func describeThroughput(t throughput) object {
	return object{"ReadCapacityUnits": t.Read, "WriteCapacityUnits": t.Write, "NumberOfDecreasesToday": 0}
}

func (t *table) describeIndexes(status string) (local, global []object) {
	for _, i := range t.Indexes {
		projection := object{"ProjectionType": i.Projection}
		if i.Projection == projectInclude {
			projection["NonKeyAttributes"] = i.Include
		}
		description := object{
			"IndexName":      i.Name,
			"IndexArn":       t.arn() + "/index/" + i.Name,
			"KeySchema":      describeKey(i.Key),
			"Projection":     projection,
			"ItemCount":      0,
			"IndexSizeBytes": 0,
		}
		if i.Local {
			local = append(local, description)
			continue
		}
		description["IndexStatus"] = i.Status
		if status == statusCreating {
			description["IndexStatus"] = status
		}
		if i.Status == statusCreating {
			description["Backfilling"] = true
		}
		description["ProvisionedThroughput"] = describeThroughput(i.Throughput)
		global = append(global, description)
	}
	return local, global
}
