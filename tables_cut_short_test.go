package dynajournal_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/dynajournal/dynajournal"
)

var errGone = errors.New("the process is gone")

// Making the tables is cut short at every request: no journal opens as one of another kind, and the next try finishes it.
func TestCreateTablesCutShort(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds {
		for allowed := 0; ; allowed++ {
			config := dynajournal.Config{AWS: openEngine(t).AWSConfig(), Retries: -1}
			requests := 0
			err := dynajournal.CreateTables(t.Context(), relayed(config, func(_ string, _ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
				if requests++; requests > allowed {
					return nil, errGone
				}
				return send()
			}), options)
			if err == nil {
				if allowed == 0 {
					t.Fatal("making the tables took no request")
				}
				break
			}
			at := fmt.Sprintf("%s, cut short after %d requests", kind, allowed)
			if j, err := dynajournal.Open(t.Context(), config); err == nil {
				if j.Native() != (kind == "native") || j.SequenceShards() != shardsOf(options) {
					t.Errorf("%s: it opened as native %v with %d shards", at, j.Native(), j.SequenceShards())
				}
				if err := j.Close(); err != nil {
					t.Error(err)
				}
			} else if !errors.Is(err, dynajournal.ErrTableNotFound) && !errors.Is(err, dynajournal.ErrNoHeader) {
				t.Errorf("%s: %v, want %v or %v", at, err, dynajournal.ErrTableNotFound, dynajournal.ErrNoHeader)
			}
			createTables(t, config, options)
			j := openJournal(t, config)
			if j.Native() != (kind == "native") || j.SequenceShards() != shardsOf(options) {
				t.Errorf("%s, then finished: native %v with %d shards", at, j.Native(), j.SequenceShards())
			}
			tables, err := dynajournal.DescribeTables(t.Context(), config)
			if err != nil || len(tables) != 2 {
				t.Errorf("%s, then finished: tables %v, %v", at, tables, err)
			}
		}
	}
}

func shardsOf(options dynajournal.TableOptions) int {
	if options.SharedWithJVM {
		return dynajournal.DefaultSequenceShards
	}
	return 1
}
