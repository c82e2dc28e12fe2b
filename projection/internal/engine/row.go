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

// The attributes of the projections table.
const (
	AttrPar = "par"
	// AttrSeq and AttrWriter are the offset, and the writer of the event there. The writer is empty
	// if the offset is the end of a gap. Both are missing at the beginning.
	AttrSeq    = "seq"
	AttrWriter = "writer"
	// attrClaim names the run that calls the handler. It is missing if none does.
	attrClaim = "claim"
	// AttrReason says why the row has a debt: the text of the last error.
	AttrReason = "reason"
	// attrHoles are the missing numbers that are waited for, and attrPassed those that were not
	// waited for any longer: lists of maps. Both are missing in a native journal.
	attrHoles  = "holes"
	attrPassed = "passed"
	// attrAfter is the last persistence id that a sweep is done with, AttrFor the projections for
	// which it is, or those of a set that reads a stream.
	attrAfter = "after"
	AttrFor   = "projections"
	// AttrOffsets says where the offsets of a projection are. It is missing if they are in rows.
	AttrOffsets = "offsets"
	// attrBegins is the number behind which FromNow makes a projection of SQL begin. If it is that
	// of the offset, no handler was called: a projection of another kind moves only the offset.
	attrBegins = "begins_behind"
)

// Offset is a place in the events of a persistence id.
type Offset struct {
	Seq    int64
	Writer string
}

// Row is what is stored for a projection and a persistence id.
type Row struct {
	Offset

	// Exists reports whether there is a row. A handler may have been called then, even if no offset
	// is stored.
	Exists bool
	// Begun reports whether an offset is stored.
	Begun bool
	Claim string
	// marked reports whether the row has the mark by which version 0.1.0 says that the persistence
	// id is stuck.
	marked bool
	Reason string
	// Begins is attrBegins, 0 if it is missing.
	Begins int64
	// InSQL reports whether the offset is that of a SQL database.
	InSQL bool
	// holes and passed are in ascending order.
	holes, passed []hole
	// Failed is the number at which the handler failed when the persistence id became stuck.
	Failed int64
	// Attempts is how many attempts of payments, and of invocations of Lambda, have begun or failed
	// after the offset.
	Attempts int64
	// first is the writer of the first event when the handler was first called, if no offset is
	// stored: see attrFirstWriter.
	first string
	// Debt is the run that is owed.
	Debt Debt
	// Made are the messages of the event after the offset that are stored, nil if none are.
	Made *Made
}

// RowKey returns the key of the row of a projection, named as group/projection, and a persistence
// id. No name of a journal contains a NUL.
func RowKey(journal, name, pid string) dynamo.Attributes {
	return dynamo.Attributes{AttrPar: Text(journal + "\x00" + name + "\x00" + pid)}
}

// OffsetsInSQL is the value of AttrOffsets of a projection whose offsets are in a SQL database.
const OffsetsInSQL = "sql"

// KindKey returns the key of the item that says where the offsets of a projection are. It is that
// of a row of the empty persistence id, which does not exist.
func KindKey(journal, name string) dynamo.Attributes { return RowKey(journal, name, "") }

// SweepKey returns the key of the position of a group's sweep. The name of a projection has a slash
// in the place of the second NUL, so this is the key of no row.
func SweepKey(journal, group string) dynamo.Attributes {
	return dynamo.Attributes{AttrPar: Text(journal + "\x00" + group + "\x00")}
}

// LetterPrefix begins the keys of the dead letters of a projection. The name of a projection has
// one slash, so no such key is one of a row.
func (t *Table) LetterPrefix(projection string) string {
	return t.JournalName + "\x00" + projection + "/dead\x00"
}

// LetterKey returns the key of a dead letter.
func (t *Table) LetterKey(projection, id string) dynamo.Attributes {
	return dynamo.Attributes{AttrPar: Text(t.LetterPrefix(projection) + id)}
}

// DecodeRow decodes a row. nil is a row that does not exist.
func DecodeRow(table string, item dynamo.Attributes) (Row, error) {
	d := Decoder{Table: table, Item: item}
	r := Row{Claim: d.Text(attrClaim), Reason: d.Text(AttrReason), Failed: d.Number(attrFailed)}
	_, r.marked = item[provision.AttrStuckMark]
	r.Exists = exists(item)
	_, r.Begun = item[AttrSeq]
	r.Seq, r.Writer = d.Number(AttrSeq), d.Text(AttrWriter)
	r.Begins = d.Number(attrBegins)
	r.Attempts, r.first = d.Number(attrAttempts), d.Text(attrFirstWriter)
	r.holes, r.passed = d.holes(attrHoles), d.holes(attrPassed)
	r.Made, r.Debt = d.made(), d.debt()
	return r, d.Err
}

// exists reports whether a row shows that a handler may have been called. One that a debt alone has
// made does not.
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

// Decoder reads optional attributes, and keeps the first error.
type Decoder struct {
	Table string
	Item  dynamo.Attributes
	Err   error
}

// Text returns a text, empty if it is missing.
func (d *Decoder) Text(name string) string {
	switch v := d.Item[name].(type) {
	case nil:
	case *types.AttributeValueMemberS:
		return v.Value
	default:
		d.Fail(name, fmt.Errorf("it is a %T", v))
	}
	return ""
}

// Texts returns a set of texts.
func (d *Decoder) Texts(name string) []string {
	switch v := d.Item[name].(type) {
	case nil:
	case *types.AttributeValueMemberSS:
		return v.Value
	default:
		d.Fail(name, fmt.Errorf("it is a %T", v))
	}
	return nil
}

// Number returns a number, 0 if it is missing.
func (d *Decoder) Number(name string) int64 {
	switch v := d.Item[name].(type) {
	case nil:
	case *types.AttributeValueMemberN:
		n, err := strconv.ParseInt(v.Value, 10, 64)
		if err == nil && n < 0 {
			err = fmt.Errorf("it is %d", n)
		}
		if err != nil {
			d.Fail(name, err)
		}
		return n
	default:
		d.Fail(name, fmt.Errorf("it is a %T", v))
	}
	return 0
}

// Fail keeps the error of an attribute, unless there was one before.
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

// Text returns a text as it is stored.
func Text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// Number returns a number as it is stored.
func Number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
