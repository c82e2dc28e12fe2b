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

// describe returns the description of the table for DescribeTable, with the given status. now is in
// milliseconds. The caller holds the table's lock.
func (t *table) describe(status string, now int64) object {
	description := object{
		"TableName":                 t.Name,
		"TableId":                   t.UUID,
		"TableArn":                  tableARN(t.Name),
		"TableStatus":               status,
		"CreationDateTime":          unixSeconds(t.CreatedAt),
		"KeySchema":                 describeKey(t.Key.asIndexKey()),
		"AttributeDefinitions":      t.describeAttributes(),
		"ItemCount":                 t.items.Load(),
		"TableSizeBytes":            t.bytes.Load(),
		"ProvisionedThroughput":     t.ThroughputChanges.describe(t.Throughput, now),
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
	t.Replication.describe(description)
	t.describeStream(description)
	local, global := t.describeIndexes(status, now)
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

func describeKey(key indexKey) []object {
	var elements []object
	for _, name := range key.Hash {
		elements = append(elements, object{"AttributeName": name, "KeyType": roleHash})
	}
	for _, name := range key.Range {
		elements = append(elements, object{"AttributeName": name, "KeyType": roleRange})
	}
	return elements
}

func (t *table) describeIndexes(status string, now int64) (local, global []object) {
	for _, i := range t.Indexes {
		projection := object{"ProjectionType": i.Projection}
		if i.Projection == projectInclude {
			projection["NonKeyAttributes"] = i.Include
		}
		description := object{
			"IndexName":      i.Name,
			"IndexArn":       indexARN(t.Name, i.Name),
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
		description["ProvisionedThroughput"] = i.ThroughputChanges.describe(i.Throughput, now)
		global = append(global, description)
	}
	return local, global
}
