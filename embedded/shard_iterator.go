package embedded

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"
)

// iteratorLife is the time for which a shard iterator can be used.
const iteratorLife = 15 * time.Minute

// shardIterator is a position in a shard of a stream.
type shardIterator struct {
	arn   string
	shard uint32
	// from is the lowest sequence number that the next record can have.
	from uint64
	// madeAt is the time at which a client got the iterator, in milliseconds.
	madeAt int64
}

// latestUndetermined is the position of an iterator that the first GetRecords determines: see
// EffectLateLatest.
const latestUndetermined = math.MaxUint64

// The text of an iterator is the ARN of the stream, a version, and the rest in base64, separated by
// bars.
const (
	iteratorVersion = "1"
	iteratorBytes   = 4 + 8 + 8
	maxIterator     = 2048
)

func (i shardIterator) text() string {
	rest := binary.BigEndian.AppendUint32(nil, i.shard)
	rest = binary.BigEndian.AppendUint64(rest, i.from)
	rest = binary.BigEndian.AppendUint64(rest, uint64(i.madeAt))
	return i.arn + "|" + iteratorVersion + "|" + base64.StdEncoding.EncodeToString(rest)
}

func parseIterator(text string) (shardIterator, error) {
	parts := strings.Split(text, "|")
	if len(parts) != 3 || parts[1] != iteratorVersion {
		return shardIterator{}, invalid("Invalid ShardIterator")
	}
	rest, err := base64.StdEncoding.DecodeString(parts[2])
	if _, isStream := tableOfStream(parts[0]); err != nil || len(rest) != iteratorBytes || !isStream {
		return shardIterator{}, invalid("Invalid ShardIterator")
	}
	return shardIterator{
		arn: parts[0], shard: binary.BigEndian.Uint32(rest), from: binary.BigEndian.Uint64(rest[4:]),
		madeAt: int64(binary.BigEndian.Uint64(rest[12:])),
	}, nil
}

// expired reports whether the iterator is too old to be used.
func (i shardIterator) expired(now time.Time) bool {
	return now.UnixMilli()-i.madeAt > iteratorLife.Milliseconds()
}

// parseSequence parses a text of sequenceText. It returns false if the text is invalid.
func parseSequence(text string) (uint64, bool) {
	rest, found := strings.CutPrefix(text, "1")
	if !found || len(rest) != sequenceDigits-1 {
		return 0, false
	}
	number, err := strconv.ParseUint(rest, 10, 64)
	return number, err == nil
}

func expiredIterator() error {
	return dynamoError("ExpiredIteratorException",
		"The shard iterator has expired and can no longer be used to retrieve stream records.")
}

func trimmedData() error {
	return dynamoError("TrimmedDataAccessException",
		"The operation attempted to read past the oldest stream record in a shard.")
}

func streamNotFound(arn string) error {
	return notFound("Requested resource not found: Stream: " + arn + " not found")
}

// streamTargets returns the table of the stream that a request reads.
func (e *Engine) streamTargets(c *call) []target {
	var arn string
	err := decode(c.body, func(member string, r *decoder) {
		switch member {
		case "StreamArn":
			arn = or(r.text(), "")
		case "ShardIterator":
			arn, _, _ = strings.Cut(or(r.text(), ""), "|")
		default:
			r.skip()
		}
	})
	name, isStream := tableOfStream(arn)
	if err != nil || !isStream {
		return nil
	}
	return []target{{table: name}}
}

// Bounds of the parameters of the operations on streams.
const (
	minStreamARN = 37
	minShardID   = 28
	maxShardID   = 65
	minSequence  = 21
	maxSequence  = 40
)

func (c *constraints) streamARN(value *string, member string) {
	if value != nil {
		c.length(len(*value), *value, member, minStreamARN, maxARNLength)
	}
}

func (c *constraints) shardID(value *string, member string) {
	if value != nil {
		c.length(len(*value), *value, member, minShardID, maxShardID)
	}
}

// requiredStream finds the stream of an ARN.
func (e *Engine) requiredStream(arn string) (*stream, error) {
	if _, isStream := tableOfStream(arn); !isStream {
		return nil, invalid("Invalid StreamArn")
	}
	s := e.streamOf(arn)
	if s == nil {
		return nil, streamNotFound(arn)
	}
	return s, nil
}
