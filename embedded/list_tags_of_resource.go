package embedded

// listTagsOfResource returns all tags of a table at once: a table has at most 50.
//
// It checks, in this order:
//  1. the model
//  2. that there is no NextToken
//  3. the ARN
//  4. the table. A missing table is an AccessDeniedException, as in the service.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListTagsOfResource.html
func (e *Engine) listTagsOfResource(c *call) error {
	var in listTagsInput
	if err := decode(c.body, in.read); err != nil {
		return err
	}
	var k constraints
	k.required(has(in.arn), "resourceArn")
	if err := k.err(); err != nil {
		return err
	}
	if in.token != nil {
		return invalid("Invalid NextToken")
	}
	name, err := taggedName(*in.arn)
	if err != nil {
		return err
	}
	t, err := e.shared(name)
	if err != nil {
		// A client that may not see a table's tags must not learn whether the table exists.
		return serviceError("AccessDeniedException", "User is not authorized to perform: dynamodb:ListTagsOfResource on resource: "+*in.arn)
	}
	defer t.lock.RUnlock()
	return c.respond(object{"Tags": describeTags(t.Tags)})
}

type listTagsInput struct {
	arn   *string
	token *string
}

func (in *listTagsInput) read(name string, r *decoder) {
	switch name {
	case "ResourceArn":
		in.arn = r.text()
	case "NextToken":
		in.token = r.text()
	default:
		r.skip()
	}
}
