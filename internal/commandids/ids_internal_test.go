package commandids

import (
	"encoding/binary"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestSaved_RoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		saved := Saved{Limits: Limits{
			Last:   rapid.IntRange(1, Most).Draw(t, "last"),
			Most:   rapid.IntRange(1, Most).Draw(t, "most"),
			Period: time.Duration(rapid.Int64Range(0, 1<<40).Draw(t, "period")) * time.Microsecond,
		}}
		for i := range rapid.IntRange(1, 5).Draw(t, "ids") {
			saved.Done = append(saved.Done, Done{HashOf(rapid.String().Draw(t, "id")), int64(i), 1 << 50})
		}
		if got, err := Decode(saved.Append(nil)); err != nil || !reflect.DeepEqual(got, saved) {
			t.Errorf("%+v is read as %+v (%v)", saved, got, err)
		}
	})
}

// Version 0.1 stored no limits, and reads the limits as the id of a command.
func TestDecode_WithoutLimits(t *testing.T) {
	t.Parallel()
	b := binary.AppendUvarint(nil, 1)
	hash := HashOf("c-1")
	b = append(b, hash[:]...)
	b = binary.AppendVarint(binary.AppendVarint(b, 7), 9)
	if got, err := Decode(b); err != nil || !reflect.DeepEqual(got, Saved{Done: []Done{{hash, 7, 9}}}) {
		t.Errorf("%+v (%v)", got, err)
	}
}

// Limits that no process has stored are reduced to the largest limits that a program can choose.
func TestDecode_LimitsAreBounded(t *testing.T) {
	t.Parallel()
	b := binary.AppendUvarint(nil, 1)
	b = append(b, limitsMark+"\xff\xff\xff\xff\xff\xff\xff\xff"...)
	b = binary.AppendVarint(binary.AppendVarint(b, 0), -1)
	if got, err := Decode(b); err != nil || len(got.Done) > 0 || got.Limits != (Limits{Last: Most, Most: Most}) {
		t.Errorf("%+v (%v)", got, err)
	}
}
