package systemtest

import (
	"strconv"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/journaltest"
)

// largestEvent is how many bytes of an event fit beside the other attributes of its item, by
// DynamoDB's rule: names and values, a byte for each two digits of a number and one more.
func largestEvent(pid string, seq int64, native bool) int {
	const journalName, uuid = len("journal"), 36
	number := func(n int64) int { return (len(strconv.FormatInt(n, 10))+1)/2 + 1 }
	taken := len("par") + journalName + len("-P-") + len(pid) + len("-0") + len("num") + number(seq) +
		len("persistence_id") + len(pid) + len("seq") + number(seq) + len("event") + len("writer_uuid") + uuid + len("ev_ser_id") + number(4)
	if native {
		taken += len("time") + number(1_795_479_186_000_001)
	}
	if native && seq == 1 {
		// the entry in the index of persistence ids, of which the shard is one digit
		taken += len("ids_shard") + number(1) + len("ids_key") + journalName + 1 + len(pid)
	}
	return dynajournal.DefaultMaxItemSize - taken
}

// largestEnveloped is how many bytes of an event fit into an envelope, as protobuf counts: a tag
// for each field, and lengths of one byte for each seven bits. The suite's numbers and ids are
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

// largestState is how many bytes of a state fit beside the other attributes of its item, by
// DynamoDB's rule: names and values, a byte for each two digits of a number and one more.
func largestState(pid string, s journaltest.Snapshot, maxItemSize int) int {
	number := func(n int64) int { return (len(strconv.FormatInt(n, 10))+1)/2 + 1 }
	taken := len("par") + len("journal-P-") + len(pid) + len("seq") + number(s.SequenceNumber) +
		len("ts") + number(s.Timestamp.UnixMilli()) + len("pay_data") + len("ser_id") + number(4)
	if maxItemSize == 0 {
		maxItemSize = dynajournal.DefaultMaxItemSize
	}
	return maxItemSize - taken
}
