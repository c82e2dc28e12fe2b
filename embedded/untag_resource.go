package embedded

import "maps"

// untagResource removes tags from a table. Keys that the table does not have are ignored.
//
// It checks, in this order:
//  1. the model
//  2. that there is a key
//  3. the ARN and the table
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UntagResource.html
func (e *Engine) untagResource(c *call) error {
	var in tagInput
	if err := decode(c.body, in.read); err != nil {
		return err
	}
	var k constraints
	k.required(has(in.arn), "resourceArn")
	k.required(in.keys != nil, "tagKeys")
	if err := k.err(); err != nil {
		return err
	}
	if len(in.keys) == 0 {
		return invalid("Atleast one Tag Key needs to be provided as Input.")
	}
	t, err := e.exclusiveTagged(*in.arn)
	if err != nil {
		return err
	}
	defer t.lock.Unlock()
	return e.changeSchema(t, func(s *schema) {
		s.Tags = maps.Clone(s.Tags)
		for _, key := range in.keys {
			delete(s.Tags, key)
		}
	})
}
