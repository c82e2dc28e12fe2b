package embedded

import (
	"strings"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

const unusedPlaceholder = "Value provided in ExpressionAttribute"

// framed words what is wrong with the parameters of a PutItem, UpdateItem or DeleteItem as DynamoDB does for these three:
// as one violation of the service's model. What several violations say reads so already; placeholders that no expression
// uses are told of as they are.
func asModelViolation(err error) error {
	if err == nil {
		return nil
	}
	api := asAPIError(err)
	if api.name() != "ValidationException" || strings.HasPrefix(api.message, unusedPlaceholder) ||
		strings.Contains(api.message, " detected: ") {
		return err
	}
	return invalid("%s", "1 validation error detected: "+api.message)
}

// inOlderWords words an error about a value as the operations do that read values the older way.
func withOlderWording(err error) error {
	if rule, is := err.(*attribute.ValidationError); is { //nolint:errorlint // the errors of values are bare
		return rule.InOlderWords()
	}
	return err
}
