package embedded

import "strings"

// tagResource adds tags to a table, and replaces the values of tags that the table already has.
//
// It checks, in this order:
//  1. the model
//  2. that there is a tag
//  3. the ARN and the table
//  4. the tags: no key twice, no reserved key, the characters, and at most 50 in all
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TagResource.html
func (e *Engine) tagResource(c *call) error {
	var in tagInput
	if err := decode(c.body, in.read); err != nil {
		return err
	}
	var k constraints
	k.required(has(in.arn), "resourceArn")
	k.required(in.tags != nil, "tags")
	k.tags(in.tags)
	if err := k.err(); err != nil {
		return err
	}
	if len(in.tags) == 0 {
		return invalid("Atleast one Tag needs to be provided as Input.")
	}
	t, err := e.exclusiveTagged(*in.arn)
	if err != nil {
		return err
	}
	defer t.lock.Unlock()
	merged, err := mergeTags(t.Tags, in.tags)
	if err != nil {
		return err
	}
	return e.changeSchema(t, func(s *schema) { s.Tags = merged })
}

type tagInput struct {
	arn  *string
	tags []tagParameter
	keys []string
}

func (in *tagInput) read(name string, r *decoder) {
	switch name {
	case "ResourceArn":
		in.arn = r.text()
	case "Tags":
		in.tags = r.tags()
	case "TagKeys":
		in.keys = r.texts()
	default:
		r.skip()
	}
}

// exclusiveTagged looks up the table of the ARN and acquires its lock exclusively.
func (e *Engine) exclusiveTagged(arn string) (*table, error) {
	name, err := taggedName(arn)
	if err != nil {
		return nil, err
	}
	t, err := e.exclusive(name)
	if err != nil {
		return nil, notFound("Requested resource not found: ResourcArn: " + arn + " not found")
	}
	return t, nil
}

func taggedName(arn string) (string, error) {
	prefix, name, found := strings.Cut(arn, ":table/")
	if !found || !strings.HasPrefix(prefix, "arn:aws:dynamodb:") || !isName(name) {
		return "", invalid("Invalid TableArn: Invalid ResourceArn provided as input %s", arn)
	}
	return name, nil
}
