package embedded

import (
	"cmp"
	"slices"
)

// childShards is the one type of a ShardFilter.
const childShards = "CHILD_SHARDS"

type describeStreamInput struct {
	arn   *string
	limit *int64
	start *string
	// filtered is set if there is a ShardFilter.
	filtered   bool
	filterType *string
	parent     *string
}

func (in *describeStreamInput) read(name string, r *decoder) {
	switch name {
	case "StreamArn":
		in.arn = r.text()
	case "Limit":
		in.limit = r.integer("Integer")
	case "ExclusiveStartShardId":
		in.start = r.text()
	case "ShardFilter":
		in.filtered = r.structure("ShardFilter", func(name string) {
			switch name {
			case "Type":
				in.filterType = r.text()
			case "ShardId":
				in.parent = r.text()
			default:
				r.skip()
			}
		})
	default:
		r.skip()
	}
}

func (in *describeStreamInput) check() error {
	var c constraints
	c.required(has(in.arn), "streamArn")
	c.streamARN(in.arn, "streamArn")
	c.atLeast(in.limit, "limit", 1)
	c.atMost(in.limit, "limit", maxListed)
	c.shardID(in.start, "exclusiveStartShardId")
	if in.filtered {
		c.oneOf(in.filterType, "shardFilter.type", childShards)
		c.shardID(in.parent, "shardFilter.shardId")
	}
	if err := c.err(); err != nil {
		return err
	}
	if in.filtered && (in.filterType == nil || in.parent == nil) {
		return invalid(invalidParameters + "ShardFilter needs both a Type and a ShardId")
	}
	return nil
}

// describeStream describes a stream and its shards, in the order of their ids, at most 100 on a
// page. A ShardFilter selects the children of one shard.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_DescribeStream.html
func (e *Engine) describeStream(c *call) error {
	var in describeStreamInput
	if err := decode(c.body, in.read); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	s, err := e.requiredStream(*in.arn)
	if err != nil {
		return err
	}
	state := s.current()
	status := "ENABLED"
	if state.DisabledAt != 0 {
		status = "DISABLED"
	}
	description := object{
		"StreamArn": s.arn(), "StreamLabel": s.label, "StreamStatus": status, "StreamViewType": s.view,
		"CreationRequestDateTime": unixSeconds(state.CreatedAt), "TableName": s.table, "KeySchema": describeKey(state.Key.asIndexKey()),
	}
	shards := c.withoutLate(in.selected(state), e.now())
	if limit := int(or(in.limit, maxListed)); len(shards) > limit {
		shards = shards[:limit]
		description["LastEvaluatedShardId"] = shards[limit-1].id()
	}
	described := make([]object, len(shards))
	for i := range shards {
		described[i] = shards[i].describe()
	}
	description["Shards"] = described
	return c.respond(object{"StreamDescription": description})
}

// selected returns the shards that a request asks for, in the order of their ids.
func (in *describeStreamInput) selected(state *streamState) []shard {
	shards := slices.Clone(state.Shards)
	slices.SortFunc(shards, func(a, b shard) int { return cmp.Compare(a.id(), b.id()) })
	return slices.DeleteFunc(shards, func(s shard) bool {
		return in.start != nil && s.id() <= *in.start || in.filtered && s.Parent != *in.parent
	})
}

func (s *shard) describe() object {
	numbers := object{"StartingSequenceNumber": sequenceText(s.start())}
	if s.Last != 0 {
		numbers["EndingSequenceNumber"] = sequenceText(s.Last)
	}
	description := object{"ShardId": s.id(), "SequenceNumberRange": numbers}
	if s.Parent != "" {
		description["ParentShardId"] = s.Parent
	}
	return description
}
