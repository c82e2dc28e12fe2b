package repotest

import (
	"encoding/json"
	"errors"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// templateTable is a table as a template describes it. Its fields are named as in CloudFormation.
type templateTable struct {
	TableName                        string
	BillingMode                      types.BillingMode
	KeySchema                        []types.KeySchemaElement
	AttributeDefinitions             []types.AttributeDefinition
	GlobalSecondaryIndexes           []types.GlobalSecondaryIndex
	TimeToLiveSpecification          *types.TimeToLiveSpecification
	StreamSpecification              *types.StreamSpecification
	DeletionProtectionEnabled        bool
	PointInTimeRecoverySpecification struct{ PointInTimeRecoveryEnabled bool }
}

// parse decodes a part of a template. It fails for unknown names.
func parse(t *testing.T, source string, target any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(source))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(target); err != nil {
		t.Fatal(err)
	}
}

// cloudFormationTables returns the tables of the CloudFormation template, with the defaults of its
// parameters.
func cloudFormationTables(t *testing.T) []templateTable {
	t.Helper()
	source := readFile(t, "docs/aws/cloudformation.json")
	var head struct {
		Parameters map[string]struct{ Default string }
	}
	if err := json.Unmarshal([]byte(source), &head); err != nil {
		t.Fatal(err)
	}
	for name, parameter := range head.Parameters {
		source = strings.ReplaceAll(source, `{ "Ref": "`+name+`" }`, `"`+parameter.Default+`"`)
		source = strings.ReplaceAll(source, `{ "Fn::Sub": "${`+name+`}-projections" }`, `"`+parameter.Default+`-projections"`)
	}
	var template struct {
		AWSTemplateFormatVersion, Description string
		Parameters                            map[string]struct{ Type, Default string }
		Resources                             map[string]struct {
			Type, DeletionPolicy, UpdateReplacePolicy string
			Properties                                templateTable
		}
		Outputs map[string]struct {
			Description string
			Value       map[string][]string
		}
	}
	parse(t, source, &template)
	if value := template.Outputs["StreamArn"].Value["Fn::GetAtt"]; !slices.Equal(value, []string{"Journal", "StreamArn"}) {
		t.Errorf("the output StreamArn is %q", value)
	}
	var tables []templateTable
	for name, resource := range template.Resources {
		if resource.Type != "AWS::DynamoDB::Table" || resource.DeletionPolicy != "Retain" || resource.UpdateReplacePolicy != "Retain" {
			t.Errorf("resource %s is not a table that is retained: %+v", name, resource)
		}
		if stream := resource.Properties.StreamSpecification; stream != nil {
			stream.StreamEnabled = aws.Bool(true) // CloudFormation implies it
		}
		tables = append(tables, resource.Properties)
	}
	return tables
}

// terraformKey returns the key schema of a hash key and a range key, if there is one.
func terraformKey(hash, rng string) []types.KeySchemaElement {
	key := []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}}
	if rng != "" {
		key = append(key, types.KeySchemaElement{AttributeName: &rng, KeyType: types.KeyTypeRange})
	}
	return key
}

// terraformTables returns the tables of the Terraform file, with the defaults of its variables.
func terraformTables(t *testing.T) []templateTable {
	t.Helper()
	source := readFile(t, "docs/aws/dynajournal.tf.json")
	type variables map[string]struct{ Type, Default string }
	var head struct{ Variable variables }
	if err := json.Unmarshal([]byte(source), &head); err != nil {
		t.Fatal(err)
	}
	for name, variable := range head.Variable {
		source = strings.ReplaceAll(source, "${var."+name+"}", variable.Default)
	}
	type enabled []struct{ Enabled bool }
	var file struct {
		Terraform struct {
			Providers map[string]struct{ Source, Version string } `json:"required_providers"`
		}
		Variable variables
		Output   map[string]struct{ Value string }
		Resource struct {
			Tables map[string]struct {
				Name                 string
				Billing              types.BillingMode `json:"billing_mode"`
				Protected            bool              `json:"deletion_protection_enabled"`
				Recovery             enabled           `json:"point_in_time_recovery"`
				Hash                 string            `json:"hash_key"`
				Range                string            `json:"range_key"`
				Attribute            []struct{ Name, Type string }
				GlobalSecondaryIndex []struct {
					Name string
					Key  []struct {
						Name string        `json:"attribute_name"`
						Type types.KeyType `json:"key_type"`
					} `json:"key_schema"`
					Projection types.ProjectionType `json:"projection_type"`
					Included   []string             `json:"non_key_attributes"`
				} `json:"global_secondary_index"`
				TTL []struct {
					Attribute string `json:"attribute_name"`
					Enabled   bool
				}
				StreamEnabled bool                 `json:"stream_enabled"`
				StreamView    types.StreamViewType `json:"stream_view_type"`
				Lifecycle     []struct {
					PreventDestroy bool `json:"prevent_destroy"`
				}
			} `json:"aws_dynamodb_table"`
		}
	}
	parse(t, source, &file)
	// key_schema of an index is known since 6.28, which deprecates hash_key and range_key there:
	// hashicorp/terraform-provider-aws issue 46197.
	if file.Terraform.Providers["aws"].Version != ">= 6.28" {
		t.Errorf("the providers are %+v", file.Terraform.Providers)
	}
	if value := file.Output["stream_arn"].Value; value != "${aws_dynamodb_table.journal.stream_arn}" {
		t.Errorf("the output stream_arn is %q", value)
	}
	var tables []templateTable
	for name, resource := range file.Resource.Tables {
		if len(resource.Lifecycle) != 1 || !resource.Lifecycle[0].PreventDestroy {
			t.Errorf("Terraform may destroy table %s", name)
		}
		table := templateTable{
			TableName: resource.Name, BillingMode: resource.Billing, KeySchema: terraformKey(resource.Hash, resource.Range),
			DeletionProtectionEnabled: resource.Protected,
		}
		table.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled = len(resource.Recovery) == 1 && resource.Recovery[0].Enabled
		for _, a := range resource.Attribute {
			table.AttributeDefinitions = append(table.AttributeDefinitions,
				types.AttributeDefinition{AttributeName: &a.Name, AttributeType: types.ScalarAttributeType(a.Type)})
		}
		for _, i := range resource.GlobalSecondaryIndex {
			var key []types.KeySchemaElement
			for _, k := range i.Key {
				key = append(key, types.KeySchemaElement{AttributeName: &k.Name, KeyType: k.Type})
			}
			table.GlobalSecondaryIndexes = append(table.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
				IndexName: &i.Name, KeySchema: key, Projection: &types.Projection{ProjectionType: i.Projection, NonKeyAttributes: i.Included},
			})
		}
		for _, ttl := range resource.TTL {
			table.TimeToLiveSpecification = &types.TimeToLiveSpecification{AttributeName: &ttl.Attribute, Enabled: &ttl.Enabled}
		}
		if resource.StreamEnabled {
			table.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: resource.StreamView}
		}
		tables = append(tables, table)
	}
	return tables
}

// create creates the table on an engine.
func (table *templateTable) create(t *testing.T, client *dynamodb.Client) {
	t.Helper()
	if !table.DeletionProtectionEnabled || !table.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled {
		t.Errorf("table %s has no protection against deletion, or no backups", table.TableName)
	}
	_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &table.TableName, BillingMode: table.BillingMode, KeySchema: table.KeySchema,
		AttributeDefinitions: table.AttributeDefinitions, GlobalSecondaryIndexes: table.GlobalSecondaryIndexes,
		StreamSpecification: table.StreamSpecification,
	})
	if err != nil {
		t.Fatal(err)
	}
	if table.TimeToLiveSpecification == nil {
		return
	}
	_, err = client.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName: &table.TableName, TimeToLiveSpecification: table.TimeToLiveSpecification,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// storedTable is an engine's description of a table, without the properties that differ between any
// two tables.
type storedTable struct {
	Billing    types.BillingMode
	Key        []types.KeySchemaElement
	Attributes map[string]types.ScalarAttributeType
	Indexes    map[string]types.GlobalSecondaryIndex
	Stream     types.StreamViewType
	TTL        string
}

// storedTables returns the tables of an engine by name.
func storedTables(t *testing.T, client *dynamodb.Client) map[string]storedTable {
	t.Helper()
	list, err := client.ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]storedTable{}
	for _, name := range list.TableNames {
		described, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name})
		if err != nil {
			t.Fatal(err)
		}
		ttl, err := client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &name})
		if err != nil {
			t.Fatal(err)
		}
		d := described.Table
		table := storedTable{
			Billing: d.BillingModeSummary.BillingMode, Key: d.KeySchema, TTL: aws.ToString(ttl.TimeToLiveDescription.AttributeName),
			Attributes: map[string]types.ScalarAttributeType{}, Indexes: map[string]types.GlobalSecondaryIndex{},
		}
		for _, a := range d.AttributeDefinitions {
			table.Attributes[*a.AttributeName] = a.AttributeType
		}
		for i := range d.GlobalSecondaryIndexes {
			index := &d.GlobalSecondaryIndexes[i]
			table.Indexes[*index.IndexName] = types.GlobalSecondaryIndex{KeySchema: index.KeySchema, Projection: index.Projection}
		}
		if d.StreamSpecification != nil {
			table.Stream = d.StreamSpecification.StreamViewType
		}
		tables[name] = table
	}
	return tables
}

// awsEngine returns the configuration of an engine that lives as long as a test.
func awsEngine(t *testing.T) aws.Config {
	t.Helper()
	return openEngine(t).AWSConfig()
}

// openEngine opens an engine that lives as long as a test.
func openEngine(t *testing.T, options ...embedded.Option) *embedded.Engine {
	t.Helper()
	engine, err := embedded.OpenMemory(append(options, embedded.WithSweepInterval(0))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine
}

// The templates create the same tables as the command. Only the header is missing, which the
// command then adds, without any other change.
func TestTemplates_CreateSameTablesAsCommand(t *testing.T) {
	t.Parallel()
	options := dynajournal.TableOptions{Projections: true, Stream: true}
	created := dynajournal.Config{AWS: awsEngine(t)}
	if err := dynajournal.CreateTables(t.Context(), created, options); err != nil {
		t.Fatal(err)
	}
	want := storedTables(t, dynamodb.NewFromConfig(created.AWS))
	for name, read := range map[string]func(*testing.T) []templateTable{
		"CloudFormation": cloudFormationTables, "Terraform": terraformTables,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := dynajournal.Config{AWS: awsEngine(t)}
			client := dynamodb.NewFromConfig(config.AWS)
			for _, table := range read(t) {
				table.create(t, client)
			}
			if got := storedTables(t, client); !reflect.DeepEqual(got, want) {
				t.Errorf("the template makes\n%+v\nthe command\n%+v", got, want)
			}
			if _, err := dynajournal.Open(t.Context(), config); !errors.Is(err, dynajournal.ErrNoHeader) {
				t.Errorf("without a header: %v", err)
			}
			if err := dynajournal.CreateTables(t.Context(), config, options); err != nil {
				t.Fatal(err)
			}
			if got := storedTables(t, client); !reflect.DeepEqual(got, want) {
				t.Errorf("the command has changed the tables to\n%+v", got)
			}
			journal, err := dynajournal.Open(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			if err := journal.Close(); err != nil || !journal.Native() {
				t.Errorf("native: %v, %v", journal.Native(), err)
			}
		})
	}
}

// logsOfFunction is the resource of the logs of a function in a policy.
const logsOfFunction = "the logs of the function"

// allowedActions returns the actions of a policy by resource: a table, an index, a stream or
// logsOfFunction.
func allowedActions(t *testing.T, name string) map[string][]string {
	t.Helper()
	var policy struct {
		Version   string
		Statement []struct {
			Sid, Effect string
			Action      []string
			Resource    string
		}
	}
	parse(t, readFile(t, name), &policy)
	allowed := map[string][]string{}
	for _, s := range policy.Statement {
		resource, ok := strings.CutPrefix(s.Resource, "arn:aws:dynamodb:REGION:ACCOUNT:table/")
		if strings.HasPrefix(s.Resource, "arn:aws:logs:REGION:ACCOUNT:") {
			resource, ok = logsOfFunction, true
		}
		if !ok || s.Effect != "Allow" || policy.Version != "2012-10-17" {
			t.Errorf("%s: statement %+v", name, s)
		}
		allowed[resource] = append(allowed[resource], s.Action...)
	}
	for _, actions := range allowed {
		slices.Sort(actions)
	}
	return allowed
}

func TestServicePolicy_ExactActions(t *testing.T) {
	t.Parallel()
	config := dynajournal.Config{AWS: awsEngine(t)}
	if err := dynajournal.CreateTables(t.Context(), config, dynajournal.TableOptions{}); err != nil {
		t.Fatal(err)
	}
	sent := &sentActions{client: config.AWS.HTTPClient, found: map[string]map[string]bool{}}
	config.AWS.HTTPClient = sent
	useJournal(t, config)
	got := sent.actions()
	if want := allowedActions(t, path.Join("docs", "aws", "service-policy.json")); !reflect.DeepEqual(got, want) {
		t.Errorf("a journal sends\n%v\nthe policy allows\n%v", got, want)
	}
}

// The actions are the ones that DynamoDB's own requests need on a customer-managed key:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.usagenotes.html
func TestPolicyOfAKeyAllowsWhatDynamoDBNeeds(t *testing.T) {
	t.Parallel()
	var policy struct {
		Version   string
		Statement []struct {
			Sid, Effect string
			Action      []string
			Resource    string
			Condition   map[string]map[string]string
		}
	}
	parse(t, readFile(t, "docs/aws/kms-policy.json"), &policy)
	want := []string{"kms:CreateGrant", "kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"}
	if len(policy.Statement) != 1 || !slices.Equal(policy.Statement[0].Action, want) ||
		policy.Statement[0].Condition["StringEquals"]["kms:ViaService"] != "dynamodb.REGION.amazonaws.com" {
		t.Errorf("the policy is %+v", policy)
	}
}

func TestProgramOfTheAWSQuickStartIsTheExample(t *testing.T) {
	t.Parallel()
	blocks := fenced(readFile(t, "docs/aws.md"), "go")
	want := []string{readFile(t, "examples/orders/main.go"), readFile(t, "examples/orders/main_test.go")}
	if !slices.Equal(blocks, want) {
		t.Errorf("the page has %q, not the files of examples/orders", blocks)
	}
}
