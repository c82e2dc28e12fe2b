package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/provision"
)

// describe reads the descriptions of the tables that the roles need, and checks whether they exist.
// If a description can't be read, the other checks use the keys of dynajournal's own tables.
func (e *examination) describe(ctx context.Context) []Check {
	var all []Check
	for _, of := range e.needed() {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		t, err := e.description(ctx, of.table)
		missing := new(types.ResourceNotFoundException)
		switch {
		case err == nil:
			e.tables[of.table] = t
			all = append(all, e.exists(ctx, of.name, of.table))
		case errors.As(err, &missing):
			all = append(all, e.exists(ctx, of.name, of.table))
		default:
			e.tables[of.table] = dynajournal.Table{Name: of.table, Keys: ownKeys(of.name)}
			all = append(all, failed("table."+of.name, "dynamodb:DescribeTable on "+of.table, err))
		}
		cancel()
	}
	return all
}

// ownKeys returns the key attributes of the tables that dynajournal creates.
func ownKeys(name string) []dynajournal.KeyAttribute {
	hash := dynajournal.KeyAttribute{Name: layout.AttrPar, Type: "S"}
	switch name {
	case "journal":
		return []dynajournal.KeyAttribute{hash, {Name: layout.AttrNum, Type: "N"}}
	case "snapshots":
		return []dynajournal.KeyAttribute{hash, {Name: layout.AttrSnapshotSeq, Type: "N"}}
	}
	return []dynajournal.KeyAttribute{hash}
}

// description describes a table. Settings that can't be read are empty.
func (e *examination) description(ctx context.Context, name string) (dynajournal.Table, error) {
	out, err := e.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		return dynajournal.Table{}, err
	}
	of := out.Table
	t := dynajournal.Table{Name: name, Status: string(of.TableStatus), DeletionProtection: aws.ToBool(of.DeletionProtectionEnabled)}
	attributes := map[string]string{}
	for _, a := range of.AttributeDefinitions {
		attributes[aws.ToString(a.AttributeName)] = string(a.AttributeType)
	}
	keys := func(schema []types.KeySchemaElement) (all []dynajournal.KeyAttribute) {
		for _, k := range schema {
			all = append(all, dynajournal.KeyAttribute{Name: aws.ToString(k.AttributeName), Type: attributes[aws.ToString(k.AttributeName)]})
		}
		return all
	}
	t.Keys = keys(of.KeySchema)
	for _, g := range of.GlobalSecondaryIndexes {
		index := dynajournal.Index{Name: aws.ToString(g.IndexName), Keys: keys(g.KeySchema), Status: string(g.IndexStatus)}
		if g.ProvisionedThroughput != nil {
			index.WriteUnits = aws.ToInt64(g.ProvisionedThroughput.WriteCapacityUnits)
		}
		t.Indexes = append(t.Indexes, index)
	}
	for _, l := range of.LocalSecondaryIndexes {
		t.Indexes = append(t.Indexes, dynajournal.Index{Name: aws.ToString(l.IndexName), Keys: keys(l.KeySchema), Local: true})
	}
	if of.ProvisionedThroughput != nil {
		t.ReadUnits, t.WriteUnits = aws.ToInt64(of.ProvisionedThroughput.ReadCapacityUnits), aws.ToInt64(of.ProvisionedThroughput.WriteCapacityUnits)
	}
	if s := of.StreamSpecification; s != nil && aws.ToBool(s.StreamEnabled) {
		t.Stream = string(s.StreamViewType)
	}
	for _, r := range of.Replicas {
		t.Replicas = append(t.Replicas, aws.ToString(r.RegionName))
	}
	t.MultiRegionConsistency = string(of.MultiRegionConsistency)
	if ttl, err := e.client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &name}); err == nil {
		t.TTL, t.TTLStatus = aws.ToString(ttl.TimeToLiveDescription.AttributeName), string(ttl.TimeToLiveDescription.TimeToLiveStatus)
	}
	backups, err := e.client.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &name})
	if err == nil && backups.ContinuousBackupsDescription != nil && backups.ContinuousBackupsDescription.PointInTimeRecoveryDescription != nil {
		t.PointInTimeRecovery = string(backups.ContinuousBackupsDescription.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus)
	}
	return t, nil
}

// neededTable is a table that the roles need, with the part of its checks' names.
type neededTable struct{ name, table string }

// needed returns the tables that the roles need.
func (e *examination) needed() []neededTable {
	all := []neededTable{{"journal", e.names.journal}}
	if e.has(RoleService, RoleReader) {
		all = append(all, neededTable{"snapshots", e.names.snapshots})
	}
	if e.has(RoleProjections) {
		all = append(all, neededTable{"projections", e.names.projections})
	}
	return all
}

// exists checks that a table exists and is active.
func (e *examination) exists(ctx context.Context, name, table string) Check {
	c := Check{Name: "table." + name, Status: StatusOK, Docs: "aws.md#tables"}
	t, ok := e.tables[table]
	switch {
	case ok && t.Status == "ACTIVE":
		c.Found, c.Docs = table, ""
		return c
	case ok:
		c.Status, c.Found, c.Want, c.Fix = StatusError, table+" is "+t.Status, "ACTIVE", "wait until it is active"
		if t.Status == "UPDATING" { // it can be used
			c.Status = StatusWarn
		}
		return c
	}
	c.Status, c.Found, c.Want = StatusError, "there is no table "+table+e.here(), "a table"
	if elsewhere := e.elsewhere(ctx, table); elsewhere != "" {
		c.Fix = "use the Region " + elsewhere + ", which has a table of this name: do not create another one"
		return c
	}
	c.Fix = "check the Region and the account; if they are right: dynajournal tables create"
	if name == "projections" {
		c.Fix += " --projections --stream"
	}
	return c
}

// here returns the Region for a message.
func (e *examination) here() string {
	if e.config.AWS.Region == "" {
		return ""
	}
	return " in " + e.config.AWS.Region
}

// elsewhere returns the first of the other Regions that has a table, or an empty string.
func (e *examination) elsewhere(ctx context.Context, table string) string {
	for _, region := range e.opts.Regions {
		in := func(o *dynamodb.Options) { o.Region = region }
		if region == e.config.AWS.Region {
			continue
		}
		if _, err := e.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table}, in); err == nil {
			return region
		}
	}
	return ""
}

// tableChecks checks the settings of the tables that exist.
func (e *examination) tableChecks() []Check {
	var all []Check
	for _, of := range e.needed() {
		t, ok := e.tables[of.table]
		if !ok || t.Status == "" {
			continue // the check of the table says so
		}
		all = append(all, backup(of.name, &t), deletionProtection(of.name, &t), replicas(of.name, &t))
		if t.WriteUnits > 0 {
			all = append(all, capacity(of.name, &t))
		}
		if of.name != "projections" {
			all = append(all, expiry(of.name, &t))
		}
		if extra := e.unknownIndexes(&t); len(extra) > 0 {
			all = append(all, Check{
				Name: "index.extra." + of.name, Status: StatusWarn, Found: strings.Join(extra, ", "), Want: "only the indexes of dynajournal",
				Fix: "each index raises the cost of each write: remove it if nothing uses it", Docs: "aws.md#capacity",
			})
		}
	}
	return all
}

// unknownIndexes returns the indexes of a table that dynajournal and the plug-ins do not use.
func (e *examination) unknownIndexes(t *dynajournal.Table) []string {
	known := []string{e.idsIndex(), layout.NativeIDsIndex, provision.DebtsIndex, layout.SnapshotTSIndex}
	var extra []string
	for _, i := range t.Indexes {
		if !slices.Contains(known, i.Name) {
			extra = append(extra, i.Name)
		}
	}
	return extra
}

// idsIndex returns the name of the index of persistence ids.
func (e *examination) idsIndex() string {
	if e.kind == layout.KindNative {
		return layout.NativeIDsIndex
	}
	return cmp.Or(e.config.IDsIndexName, dynajournal.DefaultIDsIndexName)
}

// expiry checks that items expire: without it, tombstones stay for ever.
func expiry(name string, t *dynajournal.Table) Check {
	c := Check{Name: "ttl." + name, Status: StatusOK, Found: t.TTL + " " + t.TTLStatus}
	switch {
	case t.TTLStatus == "":
		c.Status, c.Found, c.Needs = StatusUnknown, "the expiry of items can't be read", "dynamodb:DescribeTimeToLive"
	case t.TTL != "expires" || !strings.HasPrefix(t.TTLStatus, "ENABL"):
		c.Status, c.Want, c.Fix = StatusWarn, "ENABLED on the attribute expires", "dynajournal tables update"
		c.Docs = "aws.md#tables"
		if t.TTL == "" {
			c.Found = t.TTLStatus
		}
	}
	return c
}

func backup(name string, t *dynajournal.Table) Check {
	c := Check{Name: "backup." + name, Status: StatusOK, Found: "point-in-time recovery is " + t.PointInTimeRecovery}
	switch t.PointInTimeRecovery {
	case "":
		c.Status, c.Found, c.Needs = StatusUnknown, "point-in-time recovery can't be read", "dynamodb:DescribeContinuousBackups"
	case "ENABLED":
	default:
		c.Status, c.Want, c.Fix = StatusWarn, "ENABLED", "enable point-in-time recovery of the table"
		c.Docs = "aws.md#stored-data"
	}
	return c
}

func deletionProtection(name string, t *dynajournal.Table) Check {
	c := Check{Name: "protection." + name, Status: StatusOK, Found: "protected from deletion"}
	if !t.DeletionProtection {
		c.Status, c.Found, c.Want, c.Fix = StatusWarn, "not protected from deletion", "protected", "enable deletion protection of the table"
		c.Docs = "aws.md#stored-data"
	}
	return c
}

func replicas(name string, t *dynajournal.Table) Check {
	c := Check{Name: "replicas." + name, Status: StatusOK, Found: "no replicas in other Regions"}
	if len(t.Replicas) > 0 {
		c.Status, c.Found = StatusWarn, fmt.Sprintf("replicas in %s (%s)", strings.Join(t.Replicas, ", "), t.MultiRegionConsistency)
		c.Want, c.Fix = "writers in one Region only", "let one Region write"
		c.Docs = "guarantees.md#global-tables"
	}
	return c
}

// capacity checks that an index has as much provisioned capacity as its table: otherwise the index
// throttles writes of the table.
func capacity(name string, t *dynajournal.Table) Check {
	c := Check{Name: "capacity." + name, Status: StatusOK, Found: fmt.Sprintf("%d read and %d write units", t.ReadUnits, t.WriteUnits)}
	for _, i := range t.Indexes {
		if !i.Local && i.WriteUnits < t.WriteUnits {
			c.Status, c.Found = StatusWarn, fmt.Sprintf("index %s has %d write units, the table %d", i.Name, i.WriteUnits, t.WriteUnits)
			c.Want, c.Fix = "as many as the table", "raise the write units of the index: it throttles writes of the table"
			c.Docs = "aws.md#throttling"
		}
	}
	return c
}

// failed returns a check that could not be made. needs is the permission whose lack explains err.
func failed(name, needs string, err error) Check {
	c := Check{Name: name, Status: StatusUnknown, Found: err.Error()}
	if lacksPermission(err) {
		c.Found, c.Needs = "access denied", needs
	}
	return c
}

// lacksPermission reports whether a policy denies a request. Other refusals concern the credentials
// or the clock.
func lacksPermission(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && (api.ErrorCode() == "AccessDeniedException" || api.ErrorCode() == "AccessDenied")
}
