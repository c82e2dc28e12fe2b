package direct

import (
	"os"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/aws"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// eligible reports whether requests may be sent directly. The SDK must send all requests of an
// operation on a table alike, and no code of the caller may take part in them, such as a
// middleware, a logger or an endpoint resolver. AWS Lambda is excluded, because the SDK adds a
// trace header there that changes with each event that the function handles.
func eligible(c *aws.Config) bool {
	//nolint:staticcheck // resolvers of endpoints are deprecated, and the SDK still asks them
	resolved := c.EndpointResolver != nil || c.EndpointResolverWithOptions != nil
	_, lambda := os.LookupEnv("AWS_LAMBDA_FUNCTION_NAME")
	return c.Credentials != nil && len(c.APIOptions) == 0 && len(c.ServiceOptions) == 0 && c.ClientLogMode == 0 &&
		!Intercepted(c.Interceptors) && !resolved && !lambda
}

// Intercepted reports whether any interceptor is registered. It checks lengths, because the SDK's
// loader makes lists that are empty but not nil.
func Intercepted(all smithyhttp.InterceptorRegistry) bool {
	for _, kind := range reflect.ValueOf(all).Fields() {
		if kind.Len() > 0 {
			return true
		}
	}
	return false
}
