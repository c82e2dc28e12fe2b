package wire

import (
	"strconv"
	"time"

	smithytime "github.com/aws/smithy-go/time"
)

// Record is a record of a stream, with the fields that a reader of new images needs.
type Record struct {
	// Event is INSERT, MODIFY or REMOVE.
	Event string
	// Number is the sequence number of the record, or empty.
	Number string
	// Created is the time of the change, or zero if the record does not have it.
	Created time.Time
	// Keys and NewImage are nil if the record does not have them.
	Keys, NewImage Attributes
}

// Records is a response of GetRecords.
type Records struct {
	Records []Record
	// Next is the iterator for the next request, or nil if the shard has ended.
	Next *string
}

// DecodeRecords decodes the body of a successful response of GetRecords. It returns false if the
// body is not plain or is not such a response. Decoded values do not refer to body.
func DecodeRecords(body []byte) (Records, bool) {
	var all Records
	ok := decodeObject(body, &all, func(d *decoder, all *Records, name []byte) (ok bool) {
		switch string(name) {
		case "NextShardIterator":
			all.Next, ok = d.stringPointer(nil)
		case "Records":
			all.Records = nil
			ok = d.list(func() bool {
				var r Record
				ok := d.object(func(name []byte) bool { return d.recordField(&r, name) })
				all.Records = append(all.Records, r)
				return ok
			})
		}
		return ok
	})
	return all, ok
}

// recordField reads a field of a record.
func (d *decoder) recordField(r *Record, name []byte) (ok bool) {
	switch string(name) {
	case "eventName":
		var text []byte
		text, ok = d.text()
		r.Event = d.str(text)
	case "dynamodb":
		ok = d.object(func(name []byte) bool { return d.changeField(r, name) })
	case "awsRegion", "eventID", "eventSource", "eventVersion":
		_, ok = d.text()
	case "userIdentity":
		ok = d.object(func([]byte) bool {
			_, ok := d.text()
			return ok
		})
	}
	return ok
}

// changeField reads a field of a record's change.
func (d *decoder) changeField(r *Record, name []byte) (ok bool) {
	switch string(name) {
	case "ApproximateCreationDateTime":
		r.Created, ok = d.epochSeconds()
	case "Keys":
		ok = d.item()
		r.Keys = d.last.attributeMap()
	case "NewImage":
		ok = d.item()
		r.NewImage = d.last.attributeMap()
	case "OldImage":
		ok = d.item()
	case "SequenceNumber":
		var text []byte
		text, ok = d.text()
		r.Number = string(text)
	case "SizeBytes":
		ok = len(d.number()) > 0
	case "StreamViewType":
		_, ok = d.text()
	}
	return ok
}

// epochSeconds reads a time in seconds since 1970, which can have a fraction and an exponent.
func (d *decoder) epochSeconds() (time.Time, bool) {
	d.space()
	start := d.at
	if len(d.number()) == 0 {
		return time.Time{}, false
	}
	if d.at < len(d.json) && d.json[d.at] == 'E' {
		d.at++
		if len(d.number()) == 0 {
			return time.Time{}, false
		}
	}
	seconds, err := strconv.ParseFloat(string(d.json[start:d.at]), 64)
	if err != nil || seconds > maxEpochSeconds {
		return time.Time{}, false
	}
	return smithytime.ParseEpochSeconds(seconds), true
}

// maxEpochSeconds is in the year 2255. Times that are much later overflow in the SDK's conversion.
const maxEpochSeconds = 9e9
