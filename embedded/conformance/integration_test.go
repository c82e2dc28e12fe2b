//go:build integration

package conformance_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The packages that the programs use. bloop installs its own version of boto3.
const (
	boto3 = "boto3==1.44.5"
	bloop = "bloop==3.1.1"
)

// serveCommand builds the command, runs serve in memory, and returns the address that it prints.
func serveCommand(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "dynajournal")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../cmd/dynajournal").CombinedOutput(); err != nil {
		t.Fatalf("building the command: %v\n%s", err, out)
	}
	server := exec.CommandContext(context.WithoutCancel(t.Context()), binary, "serve", "--memory", "--addr", "127.0.0.1:0")
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(server.Process.Signal(syscall.SIGTERM), server.Wait()); err != nil {
			t.Errorf("ending serve: %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	address, found := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !found {
		t.Fatalf("serve prints %q, %v", line, err)
	}
	return address
}

// TestBoto3WorksWithServe runs a Python program against the command.
func TestBoto3WorksWithServe(t *testing.T) { runPython(t, "testdata/boto3_program.py", boto3) }

// TestBloopFollowsAStreamOfServe runs a Python program with a library that reads streams.
func TestBloopFollowsAStreamOfServe(t *testing.T) { runPython(t, "testdata/bloop_program.py", bloop) }

// runPython runs a program against the command, with a package that is installed once.
func runPython(t *testing.T, file, wanted string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("skipped: python3 is not found")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("skipped: there is no cache folder for %s: %v", wanted, err)
	}
	packages := filepath.Join(cache, "dynajournal", wanted)
	if _, err := os.Stat(filepath.Join(packages, "boto3")); err != nil {
		install := exec.CommandContext(t.Context(), python, "-m", "pip", "install", "--quiet", "--target", packages, wanted)
		if out, err := install.CombinedOutput(); err != nil {
			t.Skipf("skipped: pip cannot install %s: %v\n%s", wanted, err, out)
		}
	}
	program := exec.CommandContext(t.Context(), python, file, serveCommand(t))
	program.Env = append(os.Environ(), "PYTHONPATH="+packages, "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b", "AWS_DEFAULT_REGION=us-east-1")
	out, err := program.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "all passed") {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestServe_SDKForGo uses the helpers of the SDK: waiters, paginators, typed errors.
func TestServe_SDKForGo(t *testing.T) {
	client := dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(serveCommand(t)),
		Region:       "us-east-1",
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
		}),
	})
	table := aws.String("golang")
	_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: table, BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: "S"}, {AttributeName: aws.String("sk"), AttributeType: "N"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := dynamodb.NewTableExistsWaiter(client).Wait(t.Context(), &dynamodb.DescribeTableInput{TableName: table}, time.Minute); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: table, Item: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: "a"}, "sk": &types.AttributeValueMemberN{Value: fmt.Sprint(i)},
			"set": &types.AttributeValueMemberSS{Value: []string{"x", "y"}}, "bytes": &types.AttributeValueMemberB{Value: []byte{0, 255}},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	pages := dynamodb.NewQueryPaginator(client, &dynamodb.QueryInput{
		TableName: table, Limit: aws.Int32(7), KeyConditionExpression: aws.String("pk = :p"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":p": &types.AttributeValueMemberS{Value: "a"}},
	})
	items := 0
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		items += len(page.Items)
	}
	if items != 50 {
		t.Errorf("the pages have %d items", items)
	}
	key := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "a"}, "sk": &types.AttributeValueMemberN{Value: "1"}}
	_, err = client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName: table, Key: key, ConditionExpression: aws.String("attribute_not_exists(pk)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	failed, is := errors.AsType[*types.ConditionalCheckFailedException](err)
	if !is || len(failed.Item) != 4 {
		t.Errorf("a condition that fails: %v", err)
	}
	_, err = client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{ConditionCheck: &types.ConditionCheck{TableName: table, Key: key, ConditionExpression: aws.String("attribute_not_exists(pk)")}},
	}})
	cancelled, is := errors.AsType[*types.TransactionCanceledException](err)
	if !is || len(cancelled.CancellationReasons) != 1 || *cancelled.CancellationReasons[0].Code != "ConditionalCheckFailed" {
		t.Errorf("a transaction that fails: %v", err)
	}
	if _, err := client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: table}); err != nil {
		t.Fatal(err)
	}
	if err := dynamodb.NewTableNotExistsWaiter(client).Wait(t.Context(), &dynamodb.DescribeTableInput{TableName: table}, time.Minute); err != nil {
		t.Fatal(err)
	}
}
