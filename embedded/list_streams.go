package embedded

import (
	"cmp"
	"slices"
)

type listStreamsInput struct {
	tableName *string
	start     *string
	limit     *int64
}

func (in *listStreamsInput) read(name string, r *decoder) {
	switch name {
	case "TableName":
		in.tableName = r.text()
	case "ExclusiveStartStreamArn":
		in.start = r.text()
	case "Limit":
		in.limit = r.integer("Integer")
	default:
		r.skip()
	}
}

func (in *listStreamsInput) check() error {
	var c constraints
	c.streamARN(in.start, "exclusiveStartStreamArn")
	c.atLeast(in.limit, "limit", 1)
	c.atMost(in.limit, "limit", maxListed)
	c.name(in.tableName, "tableName")
	if err := c.err(); err != nil {
		return err
	}
	if in.start != nil {
		if _, isStream := tableOfStream(*in.start); !isStream {
			return invalid("Invalid ExclusiveStartStreamArn")
		}
	}
	return nil
}

// listStreams lists the readable streams of one table or of all tables, including streams of
// deleted tables, in the order of their ARNs. For an unknown table the list is empty.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_ListStreams.html
func (e *Engine) listStreams(c *call) error {
	var in listStreamsInput
	if err := decode(c.body, in.read); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	e.streamsLock.RLock()
	streams := make([]*stream, 0, len(e.streams))
	for _, s := range e.streams {
		if in.tableName == nil || tableName(*in.tableName) == s.table {
			streams = append(streams, s)
		}
	}
	e.streamsLock.RUnlock()
	slices.SortFunc(streams, func(a, b *stream) int { return cmp.Compare(a.arn(), b.arn()) })
	if in.start != nil {
		streams = slices.DeleteFunc(streams, func(s *stream) bool { return s.arn() <= *in.start })
	}
	response := object{}
	if limit := int(or(in.limit, maxListed)); len(streams) > limit {
		streams = streams[:limit]
		response["LastEvaluatedStreamArn"] = streams[limit-1].arn()
	}
	listed := make([]object, len(streams))
	for i, s := range streams {
		listed[i] = object{"StreamArn": s.arn(), "TableName": s.table, "StreamLabel": s.label}
	}
	response["Streams"] = listed
	return c.respond(response)
}
