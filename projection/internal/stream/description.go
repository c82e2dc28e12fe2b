package stream

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// Describe returns the shards of the stream, and whether the stream was disabled. The error is
// ErrStreamOver if it is gone.
//
// A shard may be missing for a while after it was opened. The pages are read at different times, so
// a parent may seem open although its child is listed, or may be missing.
func (c *Consumer) Describe(ctx context.Context) (shards []types.Shard, disabled bool, err error) {
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &c.Arn}
	for {
		out, err := c.Client.DescribeStream(ctx, in)
		if _, gone := errors.AsType[*types.ResourceNotFoundException](err); gone {
			return nil, false, ErrStreamOver
		}
		if err != nil {
			return nil, false, err
		}
		status := out.StreamDescription.StreamStatus
		disabled = disabled || status == types.StreamStatusDisabled || status == types.StreamStatusDisabling
		shards = append(shards, out.StreamDescription.Shards...)
		in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId
		if in.ExclusiveStartShardId == nil {
			return shards, disabled, nil
		}
	}
}
