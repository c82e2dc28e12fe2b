package systemtest

import (
	"strconv"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/journaltest"
)

// largestEvent returns the largest size of an event that fits in an item with the other attributes.
// By DynamoDB's rule, names and values count, and a number takes a byte for each two digits and one
// more.
func largestEvent(pid string, seq int64, native bool) int {
	const journalName, uuid = len("journal"), 36
	number := func(n int64) int { return (len(strconv.FormatInt(n, 10))+1)/2 + 1 }
	taken := len("par") + journalName + len("-P-") + len(pid) + len("-0") + len("num") + number(seq) +
		len("persistence_id") + len(pid) + len("seq") + number(seq) + len("event") + len("writer_uuid") + uuid + len("ev_ser_id") + number(4)
	if native {
		taken += len("time") + number(1_795_479_186_000_001)
	}
	if native && seq == 1 {
		// the entry in the ids index, with a shard of one digit
		taken += len("ids_shard") + number(1) + len("ids_key") + journalName + 1 + len(pid)
	}
	return dynajournal.DefaultMaxItemSize - taken
}

// largestEnveloped returns the largest size of an event that fits in an envelope. In protobuf, each
// field has a tag, and a length takes one byte for each seven bits. The suite's numbers and ids are
// small.
func largestEnveloped(pid string, seq int64, native bool) int {
	const journalName, uuid, lengthOfLong = len("journal"), 36, 3
	number := func(n int64) int { return (len(strconv.FormatInt(n, 10))+1)/2 + 1 }
	taken := len("par") + journalName + len("-P-") + len(pid) + len("-0") + len("num") + number(seq) + len("pay") +
		1 + lengthOfLong + // the payload with its serializer
		1 + 1 + 1 + lengthOfLong +
		1 + 1 + // the sequence number
		1 + 1 + len(pid) +
		1 + 1 + uuid
	if native && seq == 1 {
		taken += len("ids_shard") + number(1) + len("ids_key") + journalName + 1 + len(pid)
	}
	return dynajournal.DefaultMaxItemSize - taken
}

// largestState returns the largest size of a state that fits in an item with the other attributes,
// by the rule of largestEvent.
func largestState(pid string, s journaltest.Snapshot, maxItemSize int) int {
	number := func(n int64) int { return (len(strconv.FormatInt(n, 10))+1)/2 + 1 }
	taken := len("par") + len("journal-P-") + len(pid) + len("seq") + number(s.SequenceNumber) +
		len("ts") + number(s.Timestamp.UnixMilli()) + len("pay_data") + len("ser_id") + number(4)
	if maxItemSize == 0 {
		maxItemSize = dynajournal.DefaultMaxItemSize
	}
	return maxItemSize - taken
}
