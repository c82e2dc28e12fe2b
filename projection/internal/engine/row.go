package engine

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/provision"
)

// Attributes of the projections table.
const (
	AttrPar = "par"
	// AttrSeq is the offset. AttrWriter is the writer of the event there, empty if the offset is
	// the end of a gap. Both are missing until an offset is stored.
	AttrSeq    = "seq"
	AttrWriter = "writer"
	// attrClaim is the token of the run that calls the handler. It is missing if no run does.
	attrClaim = "claim"
	// AttrReason says why the row has a debt: the text of the last error.
	AttrReason = "reason"
	// attrHoles lists the missing numbers that the projection waits for. attrPassed lists those
	// that it no longer waits for. Both are lists of maps, and are missing in a native journal.
	attrHoles  = "holes"
	attrPassed = "passed"
	// attrAfter is the last persistence id that a sweep has finished. AttrFor names the projections
	// of the sweep, or of a set that reads a stream.
	attrAfter = "after"
	AttrFor   = "projections"
	// AttrOffsets says where the offsets of a projection are. It is missing if they are in rows.
	AttrOffsets = "offsets"
	// attrFromNow is the number after which FromNow makes a SQL projection start. If the offset has
	// the same number, no handler was called: projections of other kinds move only the offset.
	attrFromNow = "begins_behind"
)

// Offset is a place in the events of a persistence id.
type Offset struct {
	Seq    int64
	Writer string
}

// Row is the stored state of a projection for a persistence id.
type Row struct {
	Offset

	// Exists reports whether the row shows that a handler may have been called. That is possible
	// even if no offset is stored.
	Exists bool
	// Started reports whether an offset is stored.
	Started bool
	Claim   string
	// marked reports whether the row has the mark of version 0.1.0 for a stuck persistence id.
	marked bool
	Reason string
	// FromNow is attrFromNow, 0 if it is missing.
	FromNow int64
	// InSQL reports whether the offset is stored in a SQL database.
	InSQL bool
	// holes and passed are in ascending order.
	holes, passed []hole
	// Failed is the number at which the handler failed when the persistence id became stuck.
	Failed int64
	// Attempts counts the attempts after the offset, by payments and by Lambda invocations, that
	// have started or failed.
	Attempts int64
	// first is the writer of the first event when the handler was first called, if no offset is
	// stored: see attrFirstWriter.
	first string
	// Debt is the stored run that is made later.
	Debt Debt
	// Made has the stored messages of the event after the offset. It is nil if there are none.
	Made *Made
}

// RowKey returns the key of the row of a persistence id. name is group/projection. The name of a
// journal can't contain a NUL.
func RowKey(journal, name, pid string) dynamo.Attributes {
	return dynamo.Attributes{AttrPar: Text(journal + "\x00" + name + "\x00" + pid)}
}

// OffsetsInSQL is the value of AttrOffsets of a projection whose offsets are in a SQL database.
const OffsetsInSQL = "sql"

// KindKey returns the key of the item that says where the offsets of a projection are. It is the
// key of a row of the empty persistence id, which does not exist.
func KindKey(journal, name string) dynamo.Attributes { return RowKey(journal, name, "") }

// SweepKey returns the key of the item with the position of a group's sweep. It can't be the key of
// a row, which has a slash after the name of the group.
func SweepKey(journal, group string) dynamo.Attributes {
	return dynamo.Attributes{AttrPar: Text(journal + "\x00" + group + "\x00")}
}

// LetterPrefix returns the prefix of the keys of a projection's dead letters. It can't be the
// prefix of the key of a row, because the name of a projection has only one slash.
func (t *Table) LetterPrefix(projection string) string {
	return t.JournalName + "\x00" + projection + "/dead\x00"
}

// LetterKey returns the key of a dead letter.
func (t *Table) LetterKey(projection, id string) dynamo.Attributes {
	return dynamo.Attributes{AttrPar: Text(t.LetterPrefix(projection) + id)}
}

// DecodeRow decodes a row. A nil item is a row that does not exist.
func DecodeRow(table string, item dynamo.Attributes) (Row, error) {
	d := Decoder{Table: table, Item: item}
	r := Row{Claim: d.Text(attrClaim), Reason: d.Text(AttrReason), Failed: d.Number(attrFailed)}
	_, r.marked = item[provision.AttrStuckMark]
	r.Exists = exists(item)
	_, r.Started = item[AttrSeq]
	r.Seq, r.Writer = d.Number(AttrSeq), d.Text(AttrWriter)
	r.FromNow = d.Number(attrFromNow)
	r.Attempts, r.first = d.Number(attrAttempts), d.Text(attrFirstWriter)
	r.holes, r.passed = d.holes(attrHoles), d.holes(attrPassed)
	r.Made, r.Debt = d.made(), d.debt()
	return r, d.Err
}

// exists reports whether a row shows that a handler may have been called. A row that has only a
// debt does not.
func exists(item dynamo.Attributes) bool {
	if item[attrDebt] == nil {
		return item != nil
	}
	of := append([]string{AttrPar, AttrReason, attrAttempts}, debtAttributes...)
	for name := range item {
		if !slices.Contains(of, name) {
			return true
		}
	}
	return false
}

// Decoder decodes optional attributes, and records the first error.
type Decoder struct {
	Table string
	Item  dynamo.Attributes
	Err   error
}

// Text returns a text attribute. It is empty if it is missing.
func (d *Decoder) Text(name string) string {
	switch v := d.Item[name].(type) {
	case nil:
	case *types.AttributeValueMemberS:
		return v.Value
	default:
		d.Fail(name, fmt.Errorf("unexpected type %T", v))
	}
	return ""
}

// Texts returns an attribute that is a set of texts.
func (d *Decoder) Texts(name string) []string {
	switch v := d.Item[name].(type) {
	case nil:
	case *types.AttributeValueMemberSS:
		return v.Value
	default:
		d.Fail(name, fmt.Errorf("unexpected type %T", v))
	}
	return nil
}

// Number returns a number attribute. It is 0 if it is missing.
func (d *Decoder) Number(name string) int64 {
	switch v := d.Item[name].(type) {
	case nil:
	case *types.AttributeValueMemberN:
		n, err := strconv.ParseInt(v.Value, 10, 64)
		if err == nil && n < 0 {
			err = fmt.Errorf("negative number %d", n)
		}
		if err != nil {
			d.Fail(name, err)
		}
		return n
	default:
		d.Fail(name, fmt.Errorf("unexpected type %T", v))
	}
	return 0
}

// Fail records the error of an attribute, unless there was an error before.
func (d *Decoder) Fail(attribute string, err error) {
	if d.Err != nil {
		return
	}
	par, _ := d.Item[AttrPar].(*types.AttributeValueMemberS)
	failed := &dynajournal.ItemError{Table: d.Table, Attribute: attribute, Err: err}
	if par != nil {
		failed.Par = par.Value
	}
	d.Err = failed
}

// Text returns the stored form of a text.
func Text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// Number returns the stored form of a number.
func Number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
