package embedded

// The types of shard iterators.
const (
	iteratorAt      = "AT_SEQUENCE_NUMBER"
	iteratorAfter   = "AFTER_SEQUENCE_NUMBER"
	iteratorHorizon = "TRIM_HORIZON"
	iteratorLatest  = "LATEST"
)

type getShardIteratorInput struct {
	arn, shardID, kind, sequence *string
}

func (in *getShardIteratorInput) read(name string, r *decoder) {
	switch name {
	case "StreamArn":
		in.arn = r.text()
	case "ShardId":
		in.shardID = r.text()
	case "ShardIteratorType":
		in.kind = r.text()
	case "SequenceNumber":
		in.sequence = r.text()
	default:
		r.skip()
	}
}

func (in *getShardIteratorInput) check() error {
	var c constraints
	c.required(has(in.arn), "streamArn")
	c.streamARN(in.arn, "streamArn")
	c.required(has(in.shardID), "shardId")
	c.shardID(in.shardID, "shardId")
	c.required(has(in.kind), "shardIteratorType")
	c.oneOf(in.kind, "shardIteratorType", iteratorHorizon, iteratorLatest, iteratorAt, iteratorAfter)
	if in.sequence != nil {
		c.length(len(*in.sequence), *in.sequence, "sequenceNumber", minSequence, maxSequence)
	}
	if err := c.err(); err != nil {
		return err
	}
	byNumber := *in.kind == iteratorAt || *in.kind == iteratorAfter
	switch {
	case byNumber && in.sequence == nil:
		return invalid("SequenceNumber must be specified for ShardIteratorType %s", *in.kind)
	case !byNumber && in.sequence != nil:
		return invalid("SequenceNumber cannot be specified for ShardIteratorType %s", *in.kind)
	}
	return nil
}

// getShardIterator returns an iterator for a position in a shard: its oldest record, the position
// after all records that can be read now, or a sequence number. A sequence number that is outside
// the shard, or whose record is trimmed, is refused. In a closed shard, LATEST is the position
// after its last record.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetShardIterator.html
func (e *Engine) getShardIterator(c *call) error {
	var in getShardIteratorInput
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
	i := s.current().named(*in.shardID)
	if i == nil {
		return notFound("Requested resource not found: Shard does not exist")
	}
	from, err := in.position(i, s.visible())
	if err != nil {
		return err
	}
	if *in.kind == iteratorLatest && c.faulty(EffectLateLatest) {
		from = latestUndetermined
	}
	position := shardIterator{arn: s.arn(), shard: i.Number, from: from, madeAt: e.now().UnixMilli()}
	return c.respond(object{"ShardIterator": position.text()})
}

// position returns the sequence number from which the iterator reads. next is the sequence number
// after all readable records.
func (in *getShardIteratorInput) position(of *shard, next uint64) (uint64, error) {
	switch *in.kind {
	case iteratorHorizon:
		return of.start(), nil
	case iteratorLatest:
		if of.Last != 0 {
			return of.Last, nil
		}
		return max(of.First, next), nil
	}
	number, valid := parseSequence(*in.sequence)
	if !valid || number < of.First || of.Last != 0 && number > of.Last {
		return 0, invalid("Invalid SequenceNumber: it is not within the shard")
	}
	if *in.kind == iteratorAfter {
		number++
	}
	if number < of.Trimmed {
		return 0, trimmedData()
	}
	return number, nil
}

// named returns the shard with an id, or nil.
func (s *streamState) named(id string) *shard {
	for i := range s.Shards {
		if s.Shards[i].id() == id {
			return &s.Shards[i]
		}
	}
	return nil
}
