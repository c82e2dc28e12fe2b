package embedded

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
	"github.com/dynajournal/dynajournal/embedded/internal/partiql"
	"github.com/dynajournal/dynajournal/embedded/internal/storage"
)

// selection is the state of a SELECT.
type selection struct {
	statement *partiql.Bound
	read      pageRead
	// parts are the key ranges to read, one after the other. There is at least one.
	parts []partBounds
}

type partBounds struct{ lower, upper []byte }

// newSelection returns the selection of a SELECT.
func (t *table) newSelection(b *partiql.Bound, consistent bool) (*selection, error) {
	i, err := t.selectIndex(b, consistent)
	if err != nil {
		return nil, err
	}
	path, err := b.Selection(t.expressionSchema(i))
	if err != nil {
		return nil, err
	}
	if err := t.checkPaths(path.Filter); err != nil {
		return nil, err
	}
	if i != nil && len(path.Keys) > 0 {
		if err := t.checkProjected(i, path.Filter.Attributes()); err != nil {
			return nil, err
		}
	}
	s := &selection{statement: b, read: pageRead{table: t, index: i, consistent: consistent, backward: path.Backward}}
	s.read.filter = evaluator(path.Filter)
	if s.read.fetchItems, err = t.needsWhole(i, b.Attributes()); err != nil {
		return nil, err
	}
	for _, key := range path.Keys {
		if err := checkQuerySizes(key); err != nil {
			return nil, err
		}
		lower, upper := t.queryBounds(i, key)
		s.parts = append(s.parts, partBounds{lower, upper})
	}
	if len(s.parts) == 0 {
		lower, upper := t.segmentBounds(i, 0, 1)
		s.parts = []partBounds{{lower, upper}}
	}
	return s, nil
}

// selectIndex returns the index that a SELECT reads, or nil for the table.
func (t *table) selectIndex(b *partiql.Bound, consistent bool) (*index, error) {
	if b.Index == "" {
		return nil, nil //nolint:nilnil // no index means the table
	}
	if t.index(b.Index) == nil {
		return nil, invalid("The table does not have the specified index")
	}
	if consistent && !t.index(b.Index).Local {
		return nil, invalid("Strongly consistent read is not supported on Global Secondary Indexes")
	}
	return (&readInput{indexName: &b.Index}).target(t)
}

// checkProjected refuses conditions on attributes that the index does not contain.
func (t *table) checkProjected(i *index, attributes []string) error {
	var missing []string
	for _, name := range attributes {
		if !t.projected(i, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return invalid(invalidParameters+"Secondary index %s does not project one or more filter attributes: %s", i.Name, listed(missing))
	}
	return nil
}

// continuation is the position at which a page of a SELECT ended: a part, and an entry in it.
// NextToken is its encoding.
type continuation struct {
	// Statement is a hash of the statement that the token belongs to.
	Statement []byte         `json:"s"`
	Part      int            `json:"p"`
	Last      attribute.Item `json:"k,omitempty"`
}

func statementHash(in *statementInput) []byte {
	sum := sha256.New()
	_, _ = sum.Write([]byte(*in.text)) // never fails
	for _, p := range in.parameters.values {
		_, _ = sum.Write(attribute.AppendValue([]byte{0}, p))
	}
	return sum.Sum(nil)[:8]
}

func (c continuation) token() (string, error) {
	encoded, err := json.Marshal(c)
	return base64.StdEncoding.EncodeToString(encoded), err
}

// resume decodes a NextToken, which must belong to the same statement.
func (s *selection) resume(token string, in *statementInput) (continuation, error) {
	var at continuation
	encoded, err := base64.StdEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(encoded, &at)
	}
	if err != nil || string(at.Statement) != string(statementHash(in)) || at.Part < 0 || at.Part >= len(s.parts) {
		return at, invalid("Invalid NextToken")
	}
	if at.Last != nil {
		t := s.read.table
		if t.checkStart(s.read.index, at.Last) != nil || t.checkStartItem(t.keyAttributes(at.Last)) != nil {
			return at, invalid("Invalid NextToken")
		}
	}
	return at, nil
}

// run reads one page from the continuation, with at most limit items if limit is not 0. It returns
// the end of the page, or nil at the end of the SELECT.
func (s *selection) run(
	from storage.Reader, at continuation, limit int, used *consumption, emit func(storedItem) error,
) (*continuation, error) {
	budget := maxPage
	for ; at.Part < len(s.parts); at.Part, at.Last = at.Part+1, nil {
		read := s.read
		read.lower, read.upper = s.parts[at.Part].lower, s.parts[at.Part].upper
		read.limit, read.budget = limit, budget
		if at.Last != nil {
			read.start = s.read.table.entryKey(read.index, at.Last)
		}
		result, err := read.read(from, used, emit)
		if err != nil {
			return nil, err
		}
		if result.last != nil {
			at.Last = result.last
			return &at, nil
		}
		budget -= result.size
		if limit > 0 {
			limit -= result.scanned
		}
		if budget <= 0 {
			budget = 1
		}
	}
	return nil, nil //nolint:nilnil // the end
}

// singleRead checks that the SELECT names one item by its primary key, as batches and transactions
// require. It returns a change of that key without an effect, and the rest of the WHERE clause.
func (t *table) singleRead(b *partiql.Bound, where string) (*change, func(attribute.Item) bool, error) {
	path, err := b.Selection(t.expressionSchema(nil))
	if err != nil {
		return nil, nil, err
	}
	pinned := len(path.Keys) == 1 && !b.TestsExistence() && b.Index == "" &&
		(t.Key.Range == "" || path.Keys[0].Range == expression.RangeEqual)
	if !pinned {
		return nil, nil, invalid("Select statements within %s must specify the primary key in the where clause.", where)
	}
	key := attribute.Item{t.Key.Hash: path.Keys[0].Hash[0]}
	if t.Key.Range != "" {
		key[t.Key.Range] = path.Keys[0].Low
	}
	if err := t.checkKey(key); err != nil {
		return nil, nil, err
	}
	if err := t.checkPaths(path.Filter); err != nil {
		return nil, nil, err
	}
	return newChange(t, key), evaluator(path.Filter), nil
}
