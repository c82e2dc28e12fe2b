package embedded

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal/embedded/internal/storage"
)

const (
	// tokenLife is the time in which a repeated request with the same token does nothing.
	tokenLife      = 10 * time.Minute
	maxTokenLength = 36
)

// requestToken is the ClientRequestToken of a transaction, which makes it idempotent.
type requestToken struct {
	text string
	// sum is a hash of the actions. It identifies repetitions of the request.
	sum [sha256.Size]byte
}

// newToken returns the token of a request with the JSON of its actions, or nil if text is nil.
func newToken(text *string, actions []byte) (*requestToken, error) {
	if text == nil {
		return nil, nil //nolint:nilnil // no token
	}
	// Clients write the members of objects in any order. Encoding them again sorts them.
	var value any
	if err := json.Unmarshal(actions, &value); err != nil {
		return nil, fmt.Errorf("decoding the actions: %w", err)
	}
	sorted, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encoding the actions: %w", err)
	}
	return &requestToken{text: *text, sum: sha256.Sum256(sorted)}, nil
}

func (c *constraints) token(text *string, member string) {
	if text != nil {
		c.length(len(*text), *text, member, 1, maxTokenLength)
	}
}

func (t *requestToken) key() []byte { return append([]byte{tokenSpace}, t.text...) }

// storedToken is the stored form of a token.
type storedToken struct {
	Sum [sha256.Size]byte `json:"sum"`
	At  int64             `json:"atMilliseconds"`
}

func (e *Engine) alive(s storedToken) bool {
	return e.now().Before(time.UnixMilli(s.At).Add(tokenLife))
}

// tokenUsed reports whether the request was performed before. A token that was used for another
// request is an error. The caller holds the token's lock.
func (e *Engine) tokenUsed(t *requestToken) (bool, error) {
	if t == nil {
		return false, nil
	}
	var stored storedToken
	found, err := e.store.Get(t.key(), func(value []byte) error { return json.Unmarshal(value, &stored) })
	switch {
	case err != nil:
		return false, fmt.Errorf("reading a request token: %w", err)
	case !found || !e.alive(stored):
		return false, nil
	case stored.Sum != t.sum:
		return false, dynamoError("IdempotentParameterMismatchException",
			"The request was rejected because it was retried with the same token but with different request parameters.")
	}
	return true, nil
}

func (e *Engine) storeToken(batch *storage.Batch, t *requestToken) error {
	if t == nil {
		return nil
	}
	value, err := json.Marshal(storedToken{Sum: t.sum, At: e.now().UnixMilli()})
	if err != nil {
		return fmt.Errorf("encoding a request token: %w", err)
	}
	batch.Set(t.key(), value)
	e.startSweeper()
	return nil
}

// sweepTokens deletes expired tokens.
func (e *Engine) sweepTokens() error {
	old, err := e.oldTokens()
	if err != nil || len(old) == 0 {
		return err
	}
	defer e.locks.lockAll(old)()
	batch := e.store.NewBatch()
	for _, key := range old {
		var stored storedToken
		// The token may have been used again since it was found.
		_, err := e.store.Get(key, func(value []byte) error { return json.Unmarshal(value, &stored) })
		if err != nil {
			return joinClose(err, discarding{batch})
		}
		if !e.alive(stored) {
			batch.Delete(key)
		}
	}
	return batch.Commit()
}

func (e *Engine) oldTokens() ([][]byte, error) {
	it, err := e.store.Iterate([]byte{tokenSpace}, []byte{tokenSpace + 1})
	if err != nil {
		return nil, err
	}
	var old [][]byte
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		var value []byte
		var stored storedToken
		if value, err = it.Value(); err == nil {
			err = json.Unmarshal(value, &stored)
		}
		if !e.alive(stored) {
			old = append(old, bytes.Clone(it.Key()))
		}
	}
	return old, joinClose(err, it)
}
