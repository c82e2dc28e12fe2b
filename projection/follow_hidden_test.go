package projection_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// hiding leaves shards out of descriptions of a stream.
type hiding struct {
	aws.HTTPClient

	mu     sync.Mutex
	hidden map[string]bool
}

func (h *hiding) Do(r *http.Request) (*http.Response, error) {
	response, err := h.HTTPClient.Do(r)
	if err != nil || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DescribeStream") || response.StatusCode != http.StatusOK {
		return response, err
	}
	var out map[string]any
	if err := json.NewDecoder(response.Body).Decode(&out); err != nil {
		return nil, err
	}
	_ = response.Body.Close()
	h.mu.Lock()
	defer h.mu.Unlock()
	description := out["StreamDescription"].(map[string]any)
	var shards []any
	for _, shard := range description["Shards"].([]any) {
		if !h.hidden[shard.(map[string]any)["ShardId"].(string)] {
			shards = append(shards, shard)
		}
	}
	description["Shards"] = shards
	body, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	response.Header.Set("Content-Length", strconv.Itoa(len(body)))
	response.Header.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10))
	return response, nil
}

// hideChildren hides the shards that now have a parent.
func (h *hiding) hideChildren(b *bundle) {
	b.Helper()
	shards := b.shards()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, shard := range shards {
		if shard.ParentShardId != nil {
			h.hidden[aws.ToString(shard.ShardId)] = true
		}
	}
}

// A shard is listed before its parent is. It waits for the parent, which may have the first events
// of a persistence id. After an hour the records of the parent count as trimmed.
func TestFollow_ParentNotListed(t *testing.T) {
	t.Parallel()
	for name, shown := range map[string]bool{"it is listed later": true, "it is never listed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := streaming(t)
				config := b.Engine.AWSConfig()
				h := &hiding{HTTPClient: config.HTTPClient, hidden: map[string]bool{}}
				config.HTTPClient = h
				f, started := b.start(slowly, dynamodbstreams.NewFromConfig(config))
				<-started
				b.split()
				h.hideChildren(b)
				w := b.write("new", "1") // in a shard that is not listed
				b.split()
				b.append(w, "2") // in its child, which is listed
				time.Sleep(30 * time.Minute)
				want(t, "new", f.of("new"))
				if !shown {
					time.Sleep(31 * time.Minute)
					err := comes(t, "the end", f.ended)
					if _, trimmed := errors.AsType[*streamtypes.TrimmedDataAccessException](err); !trimmed {
						t.Errorf("%v does not say that records were trimmed", err)
					}
					return
				}
				h.mu.Lock()
				h.hidden = map[string]bool{}
				h.mu.Unlock()
				time.Sleep(time.Minute)
				want(t, "new", f.of("new"), "1 1", "2 2")
				f.stop()
				comes(t, "the end", f.ended)
			})
		})
	}
}
