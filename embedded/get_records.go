package embedded

const (
	maxRecords = 1000
	// maxRecordBytes limits the bytes of the records in a response, unless it has a single record.
	maxRecordBytes = 1 << 20
	// maxReaders is the maximum number of requests that read a shard at once.
	maxReaders = 2
)

type getRecordsInput struct {
	iterator *string
	limit    *int64
}

func (in *getRecordsInput) read(name string, r *decoder) {
	switch name {
	case "ShardIterator":
		in.iterator = r.text()
	case "Limit":
		in.limit = r.integer("Integer")
	default:
		r.skip()
	}
}

func (in *getRecordsInput) check() error {
	var c constraints
	c.required(has(in.iterator), "shardIterator")
	if in.iterator != nil {
		c.length(len(*in.iterator), *in.iterator, "shardIterator", 1, maxIterator)
	}
	c.atLeast(in.limit, "limit", 1)
	c.atMost(in.limit, "limit", maxRecords)
	return c.err()
}

// getRecords returns the records of a shard from an iterator on, at most 1,000 records or 1 MiB,
// and the next iterator, except at the end of a closed shard. Two requests may read a shard at
// once; a third is refused with LimitExceededException.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetRecords.html
func (e *Engine) getRecords(c *call) error {
	var in getRecordsInput
	if err := decode(c.body, in.read); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	position, err := parseIterator(*in.iterator)
	if err != nil {
		return err
	}
	s := e.streamOf(position.arn)
	if s == nil {
		return streamNotFound(position.arn)
	}
	if position.expired(e.now()) || c.faulty(EffectExpiredIterator) {
		return expiredIterator()
	}
	if !s.startReading(position.shard) {
		return tooManyReaders()
	}
	defer s.endReading(position.shard)
	// The end of the readable records is read before the state. If the shard is closed in between,
	// it may have records after that end, which a later request returns.
	end := s.visible()
	state := s.current()
	i := state.find(position.shard)
	if position.from == latestUndetermined {
		position.from = end
	}
	if i < 0 || position.from < state.Shards[i].Trimmed || c.faulty(EffectTrimmed) {
		return trimmedData()
	}
	return e.respondRecords(c, s, &state.Shards[i], position, end, int(or(in.limit, maxRecords)))
}

// respondRecords responds with the records of a shard from a position up to an end, excluded.
func (e *Engine) respondRecords(c *call, s *stream, of *shard, position shardIterator, end uint64, limit int) error {
	newest := e.now().UnixMilli()
	if c.faulty(EffectStreamLag) {
		newest -= c.fault.Delay.Milliseconds()
	}
	if c.faulty(EffectHalfPage) {
		limit = (limit + 1) / 2
	}
	it, err := e.store.Iterate(recordKey(s.id, of.Number, position.from), recordKey(s.id, of.Number, end))
	if err != nil {
		return err
	}
	c.out = append(c.out, `{"Records":[`...)
	size, n, more := 0, 0, false
	for ok := it.First(); ok; ok = it.Next() {
		var stored []byte
		if stored, err = it.Value(); err != nil {
			break
		}
		var r streamRecord
		if r, err = decodeRecord(stored); err != nil {
			break
		}
		if n == limit || n > 0 && size+len(stored) > maxRecordBytes || r.at > newest {
			more = true
			break
		}
		clock, _ := c.form(EffectWrongClock)
		r.at += clock.Delay.Milliseconds()
		number := recordNumber(it.Key())
		c.out = s.appendRecord(separate(c.out, n), &r, number)
		size, n, position.from = size+len(stored), n+1, number+1
	}
	if err := joinClose(err, it); err != nil {
		return err
	}
	c.out = append(c.out, ']')
	if more || of.Last == 0 || end <= of.Last {
		position.madeAt = e.now().UnixMilli()
		c.out = append(c.out, `,"NextShardIterator":"`...)
		c.out = append(c.out, position.text()...)
		c.out = append(c.out, '"')
	}
	c.out = append(c.out, '}')
	return nil
}

func tooManyReaders() error {
	return dynamoError("LimitExceededException", "Subscriber limit exceeded: more than two requests read the shard")
}

// startReading counts a request that reads a shard, and reports whether it may read.
func (s *stream) startReading(shard uint32) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.readers[shard] >= maxReaders {
		return false
	}
	s.readers[shard]++
	return true
}

func (s *stream) endReading(shard uint32) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.readers[shard]--; s.readers[shard] == 0 {
		delete(s.readers, shard)
	}
}
