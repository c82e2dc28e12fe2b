package entity

import (
	"encoding/binary"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestSavedIDsAreReadAsTheyWere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		saved := savedIDs{limits: CommandIDs{
			Last:   rapid.IntRange(1, maxRemembered).Draw(t, "last"),
			Most:   rapid.IntRange(1, maxRemembered).Draw(t, "most"),
			Period: time.Duration(rapid.Int64Range(0, 1<<40).Draw(t, "period")) * time.Microsecond,
		}}
		for i := range rapid.IntRange(1, 5).Draw(t, "ids") {
			saved.done = append(saved.done, remembrance{hashOf(rapid.String().Draw(t, "id")), int64(i), 1 << 50})
		}
		r := &envelopeReader{rest: saved.append(nil)}
		if got := r.ids(); r.failed || len(r.rest) > 0 || !reflect.DeepEqual(got, saved) {
			t.Errorf("%+v is read as %+v", saved, got)
		}
	})
}

// Version 0.1 stored no limits, and reads them as the id of a command.
func TestSavedIDsWithoutLimits(t *testing.T) {
	t.Parallel()
	b := binary.AppendUvarint(nil, 1)
	hash := hashOf("c-1")
	b = append(b, hash[:]...)
	b = binary.AppendVarint(binary.AppendVarint(b, 7), 9)
	r := &envelopeReader{rest: b}
	got := r.ids()
	if r.failed || !reflect.DeepEqual(got, savedIDs{done: []remembrance{{hash, 7, 9}}}) {
		t.Errorf("%+v", got)
	}
}

// What no process has stored has no effect beyond what a program can choose.
func TestSavedLimitsAreBounded(t *testing.T) {
	t.Parallel()
	b := binary.AppendUvarint(nil, 1)
	b = append(b, limitsMark+"\xff\xff\xff\xff\xff\xff\xff\xff"...)
	b = binary.AppendVarint(binary.AppendVarint(b, 0), -1)
	got := (&envelopeReader{rest: b}).ids()
	if len(got.done) > 0 || got.limits != (CommandIDs{Last: maxRemembered, Most: maxRemembered}) {
		t.Errorf("%+v", got)
	}
}
