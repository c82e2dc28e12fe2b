package direct_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// A later version of the SDK may add a field that makes requests differ.
func TestEveryFieldOfTheAWSConfigIsConsidered(t *testing.T) {
	t.Parallel()
	considered := []string{
		// If they are set the SDK sends everything.
		"APIOptions", "ServiceOptions", "Interceptors", "ClientLogMode", "EndpointResolver", "EndpointResolverWithOptions",
		// A Sender uses them for each request, as the SDK does.
		"Credentials", "HTTPClient",
		// All requests of an operation on a table have them in common, as long as the credentials
		// are the same.
		"Region", "BaseEndpoint", "ConfigSources", "AppID", "DefaultsMode", "RuntimeEnvironment", "AccountIDEndpointMode",
		"AuthSchemePreference", "DisableClockSkewCorrection",
		// Package dynamo does what they configure.
		"RetryMaxAttempts", "RetryMode", "Retryer",
		// They do not concern DynamoDB's requests.
		"BearerAuthTokenProvider", "DisableRequestCompression", "RequestMinCompressSizeBytes", "RequestChecksumCalculation",
		"ResponseChecksumValidation", "RestrictFilePermissions",
		// The SDK logs warnings about responses that it gets itself.
		"Logger",
	}
	for field := range reflect.TypeFor[aws.Config]().Fields() {
		if !slices.Contains(considered, field.Name) {
			t.Errorf("aws.Config has a field %s: can it make one request differ from another?", field.Name)
		}
	}
}
