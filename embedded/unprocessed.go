package embedded

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

// throttled reports whether WithThroughput caused the error.
func throttled(err error) bool {
	switch asAPIError(err).name() {
	case "ProvisionedThroughputExceededException", "ThrottlingException":
		return true
	}
	return false
}

func allUnprocessed(changes []*change) bool {
	return !slices.ContainsFunc(changes, func(ch *change) bool { return !ch.unprocessed })
}

// appendUnprocessed appends the unprocessed requests. The changes are in the order of the requests.
func (in *batchWriteItemInput) appendUnprocessed(dst []byte, changes []*change) []byte {
	dst = append(dst, '{')
	position, tables := 0, 0
	for _, name := range in.names() {
		n := 0
		for _, w := range in.tables[name] {
			ch := changes[position]
			position++
			if !ch.unprocessed {
				continue
			}
			if n == 0 {
				dst = separate(dst, tables)
				dst = attribute.AppendText(dst, name)
				dst = append(dst, ":["...)
				tables++
			}
			dst = separate(dst, n)
			dst = w.append(dst)
			n++
		}
		if n > 0 {
			dst = append(dst, ']')
		}
	}
	return append(dst, '}')
}

func (w writeRequest) append(dst []byte) []byte {
	if w.puts {
		dst = append(dst, `{"PutRequest":{"Item":`...)
		dst = attribute.AppendItem(dst, w.item.item)
	} else {
		dst = append(dst, `{"DeleteRequest":{"Key":`...)
		dst = attribute.AppendItem(dst, w.key.item)
	}
	return append(dst, "}}"...)
}

// appendUnprocessedKeys appends a request for the unprocessed keys, with the parameters of the
// original request.
func appendUnprocessedKeys(dst, original []byte, left []attribute.Item) ([]byte, error) {
	var parameters map[string]json.RawMessage
	if err := json.Unmarshal(original, &parameters); err != nil {
		return dst, fmt.Errorf("decoding the request again: %w", err)
	}
	keys := []byte{'['}
	for i, key := range left {
		keys = separate(keys, i)
		keys = attribute.AppendItem(keys, key)
	}
	parameters["Keys"] = append(keys, ']')
	encoded, err := json.Marshal(parameters)
	if err != nil {
		return dst, fmt.Errorf("encoding the unprocessed keys: %w", err)
	}
	return append(dst, encoded...), nil
}
