package dynamo_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// A middleware of the caller may retain the input of a request, to log it later.
func TestStatementMemory_RetainedByMiddleware(t *testing.T) {
	t.Parallel()
	var retained []types.BatchStatementRequest
	retain := middleware.InitializeMiddlewareFunc("keep", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		if request, ok := in.Parameters.(*dynamodb.BatchExecuteStatementInput); ok {
			retained = append(retained, request.Statements...)
		}
		return next.HandleInitialize(ctx, in)
	})
	c := newClient(t, options(&script{steps: []step{done(2), done(2)}}, func(o *dynamo.Options) {
		o.AWS.APIOptions = append(o.AWS.APIOptions, func(s *middleware.Stack) error {
			return s.Initialize.Add(retain, middleware.Before)
		})
	}))
	g := groupOn(t, c)
	for range 2 {
		if err := errors.Join(insert(t, g, 2, 1)...); err != nil {
			t.Fatal(err)
		}
	}
	if len(retained) != 4 {
		t.Fatalf("the middleware has seen %d statements, want 4", len(retained))
	}
	for i, s := range retained {
		if s.Statement == nil || len(s.Parameters) == 0 || s.Parameters[0] == nil {
			t.Errorf("statement %d was used again: %+v", i, s)
		}
	}
}
