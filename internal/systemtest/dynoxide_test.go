//go:build differential

package systemtest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynoxide"
)

// TestConformsOnDynoxide runs the suites on dynoxide, an engine of another project.
func TestConformsOnDynoxide(t *testing.T) {
	t.Parallel()
	endpoint := dynoxide.Serve(t, dynoxide.Find(t))
	var stores atomic.Int64
	conforms(t, func(testing.TB) dynajournal.Config {
		n := stores.Add(1)
		config := dynajournal.Config{AWS: aws.Config{
			Region: "us-east-1", BaseEndpoint: &endpoint,
			Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: "any", SecretAccessKey: "any"}, nil
			}),
		}}
		config.JournalTable, config.SnapshotTable = fmt.Sprintf("journal-%d", n), fmt.Sprintf("snapshots-%d", n)
		return config
	})
}
