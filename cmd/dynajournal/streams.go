package main

import (
	"context"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

// streams returns a client for the streams of the location. On AWS, streams have their own
// endpoint. Other services use the same endpoint as for tables, unless
// AWS_ENDPOINT_URL_DYNAMODB_STREAMS is set.
func (c *connection) streams() *dynamodbstreams.Client {
	config := c.config.AWS
	if id, secret := c.config.AccessKeyID, c.config.SecretAccessKey; id != "" {
		config.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: id, SecretAccessKey: secret, Source: "dynajournal"}, nil
		})
	}
	endpoint := os.Getenv("AWS_ENDPOINT_URL_DYNAMODB_STREAMS")
	if endpoint == "" && !ofAWS(hostOf(c.config.Endpoint)) {
		endpoint = c.config.Endpoint
	}
	return dynamodbstreams.NewFromConfig(config, func(o *dynamodbstreams.Options) {
		if endpoint != "" && c.engine == nil {
			o.BaseEndpoint = &endpoint
		}
	})
}
