package projection

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// The attributes of the projections table.
const (
	attrPar = "par"
	// attrSeq and attrWriter are the offset, and the writer of the event there. The writer is empty
	// if the offset is the end of a gap. Both are missing at the beginning.
	attrSeq    = "seq"
	attrWriter = "writer"
	// attrClaim names the run that calls the handler. It is missing if none does.
	attrClaim = "claim"
	// attrStuck is the number of triggers since the handler has failed too often, plus 1. It is
	// missing if the persistence id is not stuck. attrReason is the text of the failure, attrFailed
	// the number that it was at.
	attrStuck  = "stuck"
	attrReason = "reason"
	attrFailed = "failed_at"
	// attrHoles are the missing numbers that are waited for, and attrPassed those that were not
	// waited for any longer: lists of maps. Both are missing in a native journal.
	attrHoles  = "holes"
	attrPassed = "passed"
	// attrAfter is the last persistence id that a sweep is done with, attrFor the projections for
	// which it is, or those of a set that reads a stream.
	attrAfter = "after"
	attrFor   = "projections"
	// attrOffsets says where the offsets of a projection are. It is missing if they are in rows.
	attrOffsets = "offsets"
	// attrBegins is the number behind which FromNow makes a projection of SQL begin. If it is that
	// of the offset, no handler was called: a projection of another kind moves only the offset.
	attrBegins = "begins_behind"
)

// offset is a place in the events of a persistence id.
type offset struct {
	seq    int64
	writer string
}

// row is what is stored for a projection and a persistence id.
type row struct {
	offset

	// exists reports whether there is a row. A handler may have been called then, even if no offset
	// is stored.
	exists bool
	// begun reports whether an offset is stored.
	begun  bool
	claim  string
	stuck  int64
	reason string
	// begins is attrBegins, 0 if it is missing.
	begins int64
	// inSQL reports whether the offset is that of a SQL database.
	inSQL bool
	// holes and passed are in ascending order.
	holes, passed []hole
	// failed is the number at which the handler failed when the persistence id became stuck.
	failed int64
	// attempts is how many attempts on Lambda have begun or failed behind the offset.
	attempts int64
	// first is the writer of the first event when the handler was first called, if no offset is
	// stored: see attrFirstWriter.
	first string
	// made are the messages of the event behind the offset that are stored, nil if none are.
	made *made
	// kept reports whether the row is of the process's memory, and was not read.
	kept bool
}

// rowKey returns the key of the row of a projection, named as group/projection, and a persistence
// id. No name of a journal contains a NUL.
func rowKey(journal, name, pid string) dynamo.Attributes {
	return dynamo.Attributes{attrPar: text(journal + "\x00" + name + "\x00" + pid)}
}

// offsetsInSQL is the value of attrOffsets of a projection whose offsets are in a SQL database.
const offsetsInSQL = "sql"

// kindKey returns the key of the item that says where the offsets of a projection are. It is that
// of a row of the empty persistence id, which does not exist.
func kindKey(journal, name string) dynamo.Attributes { return rowKey(journal, name, "") }

// sweepKey returns the key of the position of a group's sweep. The name of a projection has a slash
// in the place of the second NUL, so this is the key of no row.
func sweepKey(journal, group string) dynamo.Attributes {
	return dynamo.Attributes{attrPar: text(journal + "\x00" + group + "\x00")}
}

// decodeRow decodes a row. nil is a row that does not exist.
func decodeRow(table string, item dynamo.Attributes) (row, error) {
	d := decoder{table: table, item: item}
	r := row{claim: d.text(attrClaim), reason: d.text(attrReason), stuck: d.number(attrStuck), failed: d.number(attrFailed)}
	r.exists = item != nil
	_, r.begun = item[attrSeq]
	r.seq, r.writer = d.number(attrSeq), d.text(attrWriter)
	r.begins = d.number(attrBegins)
	r.attempts, r.first = d.number(attrAttempts), d.text(attrFirstWriter)
	r.holes, r.passed = d.holes(attrHoles), d.holes(attrPassed)
	r.made = d.made()
	return r, d.err
}

// decoder reads optional attributes, and keeps the first error.
type decoder struct {
	table string
	item  dynamo.Attributes
	err   error
}

func (d *decoder) text(name string) string {
	switch v := d.item[name].(type) {
	case nil:
	case *types.AttributeValueMemberS:
		return v.Value
	default:
		d.fail(name, fmt.Errorf("it is a %T", v))
	}
	return ""
}

// texts returns a set of texts.
func (d *decoder) texts(name string) []string {
	switch v := d.item[name].(type) {
	case nil:
	case *types.AttributeValueMemberSS:
		return v.Value
	default:
		d.fail(name, fmt.Errorf("it is a %T", v))
	}
	return nil
}

func (d *decoder) number(name string) int64 {
	switch v := d.item[name].(type) {
	case nil:
	case *types.AttributeValueMemberN:
		n, err := strconv.ParseInt(v.Value, 10, 64)
		if err == nil && n < 0 {
			err = fmt.Errorf("it is %d", n)
		}
		if err != nil {
			d.fail(name, err)
		}
		return n
	default:
		d.fail(name, fmt.Errorf("it is a %T", v))
	}
	return 0
}

func (d *decoder) fail(attribute string, err error) {
	if d.err != nil {
		return
	}
	par, _ := d.item[attrPar].(*types.AttributeValueMemberS)
	failed := &dynajournal.ItemError{Table: d.table, Attribute: attribute, Err: err}
	if par != nil {
		failed.Par = par.Value
	}
	d.err = failed
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
