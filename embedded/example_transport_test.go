package embedded_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal/embedded"
)

// The engine can also be one that "dynajournal serve" runs. The client has the settings of the
// SDK's own HTTP client.
func ExampleTransport() {
	ctx, stop := context.WithCancel(context.Background())
	engine, err := embedded.OpenMemory()
	if err != nil {
		log.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- engine.Serve(ctx, listener) }()

	transport := embedded.Transport(awshttp.NewBuildableClient().GetTransport())
	client := dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String("http://" + listener.Addr().String()),
		Region:       embedded.Region,
		Credentials:  credentials.NewStaticCredentialsProvider("any", "any", ""),
		HTTPClient:   &http.Client{Transport: transport},
	})
	listed, err := client.ListTables(ctx, &dynamodb.ListTablesInput{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(listed.TableNames), "tables")

	stop()
	if err := <-served; err != nil {
		log.Fatal(err)
	}
	if err := engine.Close(); err != nil {
		log.Fatal(err)
	}
	// Output: 0 tables
}
