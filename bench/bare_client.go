package bench

import (
	"context"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
)

// bareClient returns a client of the SDK with its defaults, except for two that would slow down the
// base and make the ratio look good: it retains an idle connection for each caller, and does not
// close a connection because a request body was closed early.
func bareClient(config dynajournal.Config) *dynamodb.Client {
	return dynamodb.NewFromConfig(bareConfig(config))
}

// bareConfig returns the configuration of a bare client.
func bareConfig(config dynajournal.Config) aws.Config {
	bare := config.AWS.Copy()
	if config.Endpoint != "" {
		bare.BaseEndpoint = &config.Endpoint
	}
	if bare.Region == "" {
		bare.Region = "us-east-1" // the default of the journal
	}
	if config.AccessKeyID != "" && config.SecretAccessKey != "" {
		credentials := aws.Credentials{AccessKeyID: config.AccessKeyID, SecretAccessKey: config.SecretAccessKey}
		bare.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return credentials, nil
		})
	}
	if bare.HTTPClient == nil {
		bare.HTTPClient = awshttp.NewBuildableClient()
	}
	if own, ok := bare.HTTPClient.(*awshttp.BuildableClient); ok {
		bare.HTTPClient = plainBodies{own.WithTransportOptions(func(t *http.Transport) {
			t.MaxIdleConns, t.MaxIdleConnsPerHost = mostCallers, mostCallers
		})}
	}
	return bare
}

// plainBodies hides the method WriteTo of request bodies from the transport. The SDK closes a body
// as soon as it has the response header. If WriteTo fails because of that, the transport considers
// the request truncated and closes the connection during the response, and the SDK retries after a
// pause of up to seconds. Responses over loopback are fast enough for this.
type plainBodies struct{ inner aws.HTTPClient }

// Do sends a request.
func (p plainBodies) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return p.inner.Do(r)
}
