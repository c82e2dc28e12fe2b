package dynajournal

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

func init() { core.RegisterConnect((*Config).connect) } //nolint:gochecknoinits // a Config can't carry it

// connect fills in the defaults, checks the configuration, and returns the client that it
// describes. It sends nothing. The caller closes the client.
func (c *Config) connect() (*dynamo.Client, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	return c.client()
}

// defaultRegion signs requests to an endpoint without a region.
const defaultRegion = "us-east-1"

// client returns the client that a complete configuration describes.
func (c *Config) client() (*dynamo.Client, error) {
	awsConfig := c.AWS.Copy()
	if c.Endpoint != "" {
		awsConfig.BaseEndpoint = &c.Endpoint
	}
	orDefault(&awsConfig.Region, defaultRegion)
	if c.AccessKeyID != "" && c.SecretAccessKey != "" {
		awsConfig.Credentials = aws.NewCredentialsCache(staticCredentials{c.AccessKeyID, c.SecretAccessKey})
	}
	client, err := dynamo.New(dynamo.Options{
		AWS:       awsConfig,
		UserAgent: c.UserAgent,
		HTTP: dynamo.HTTPOptions{
			Transport:      c.HTTP.transport,
			ConnectTimeout: c.HTTP.ConnectTimeout,
			KeepAlive:      c.HTTP.KeepAlive,
			LocalAddress:   c.HTTP.LocalAddress,
		},
		MaxInFlight:      c.MaxConnections,
		Retries:          c.Retries,
		BackoffBase:      c.BackoffBase,
		BackoffCap:       c.BackoffCap,
		AttemptTimeout:   c.AttemptTimeout,
		OperationTimeout: c.OperationTimeout,
		MaxBatchGet:      c.MaxBatchGet,
		MaxBatchWrite:    c.MaxBatchWrite,
		SDKCodec:         c.SDKCodec,
		Clock:            *core.ClockIn(&c.configParts),
		Start:            c.onStart(),
		Observe:          c.observer(),
		End:              c.onEnd(),
	})
	if err != nil {
		return nil, &ArgumentError{"Config.HTTP", c.HTTP.LocalAddress, err.Error()}
	}
	return client, nil
}

// staticCredentials provides an access key that never expires.
type staticCredentials struct{ id, secret string }

// Retrieve returns the access key.
func (s staticCredentials) Retrieve(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: s.id, SecretAccessKey: s.secret, Source: "dynajournal.Config"}, nil
}
