package embedded

import "strings"

// framedProblems are how the messages begin about what is wrong with the parameters of a PutItem or UpdateItem.
var framedProblems = []string{
	"Invalid ConditionExpression: ",
	"Invalid UpdateExpression: ",
	"Can not use both expression and non-expression parameters",
	"ReturnValues can only be",
	"ExpressionAttributeValues can only be specified",
	invalidParameters + "An string set ",
	invalidParameters + "An number set ",
	invalidParameters + "Binary sets ",
	invalidParameters + "Input collection ",
	invalidParameters + "Null attribute value types ",
	"Input collection contains duplicates",
}

// framed words an error of a PutItem or UpdateItem as DynamoDB does for these two: what is wrong with the parameters reads
// as a violation of the service's model. What names and values of expressions alone, numbers, keys, and the item there is
// are wrong about stays as it is, as does an expression without a text.
func framed(err error) error {
	if err == nil {
		return nil
	}
	api := asAPIError(err)
	if api.name() != "ValidationException" || strings.HasSuffix(api.message, "Expression: The expression can not be empty;") {
		return err
	}
	message := api.message
	// Of a value of an expression, only the rule that it breaks is told.
	if rest, is := strings.CutPrefix(message, "ExpressionAttributeValues contains invalid value: "); is {
		if at := strings.LastIndex(rest, " for key :"); at >= 0 {
			message = rest[:at]
		}
	}
	for _, problem := range framedProblems {
		if strings.HasPrefix(message, problem) {
			return invalid("%s", "1 validation error detected: "+message)
		}
	}
	return err
}
