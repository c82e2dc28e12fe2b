package dynamo

import "context"

// Purpose is the kind of operation that a request serves. Observers add up the cost of a journal by
// purpose.
type Purpose string

// Purposes of requests.
const (
	ForAppend     Purpose = "append"
	ForRecover    Purpose = "recover"
	ForRead       Purpose = "read"
	ForList       Purpose = "list"
	ForSnapshot   Purpose = "snapshot"
	ForState      Purpose = "state"
	ForDelete     Purpose = "delete"
	ForPurge      Purpose = "purge"
	ForCopy       Purpose = "copy"
	ForVerify     Purpose = "verify"
	ForTables     Purpose = "tables"
	ForPing       Purpose = "ping"
	ForProjection Purpose = "projection"
	ForTags       Purpose = "tags"
	ForOutbox     Purpose = "outbox"
	ForPayloads   Purpose = "payloads"
)

type purposeKey struct{}

func purposeOf(ctx context.Context) Purpose {
	purpose, _ := ctx.Value(purposeKey{}).(Purpose) // or none
	return purpose
}

// For returns a context whose requests serve a purpose. The first purpose of a context stays: the
// reads of a projection serve the projection. Without observers, For returns ctx.
func (c *Client) For(ctx context.Context, purpose Purpose) context.Context {
	if !c.Observes() || purposeOf(ctx) != "" {
		return ctx
	}
	return context.WithValue(ctx, purposeKey{}, purpose)
}
