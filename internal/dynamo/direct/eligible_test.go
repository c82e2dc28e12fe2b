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
		// If any of these is set, the SDK sends every request.
		"APIOptions", "ServiceOptions", "Interceptors", "ClientLogMode", "EndpointResolver", "EndpointResolverWithOptions",
		// A Sender uses these for each request, like the SDK.
		"Credentials", "HTTPClient",
		// All requests of an operation on a table share these while the credentials stay the same.
		"Region", "BaseEndpoint", "ConfigSources", "AppID", "DefaultsMode", "RuntimeEnvironment", "AccountIDEndpointMode",
		"AuthSchemePreference", "DisableClockSkewCorrection",
		// Package dynamo replaces what these configure.
		"RetryMaxAttempts", "RetryMode", "Retryer",
		// These do not affect DynamoDB's requests.
		"BearerAuthTokenProvider", "DisableRequestCompression", "RequestMinCompressSizeBytes", "RequestChecksumCalculation",
		"ResponseChecksumValidation", "RestrictFilePermissions",
		// The SDK logs warnings about responses that it receives itself.
		"Logger",
	}
	for field := range reflect.TypeFor[aws.Config]().Fields() {
		if !slices.Contains(considered, field.Name) {
			t.Errorf("aws.Config has a field %s: can it make one request differ from another?", field.Name)
		}
	}
}
