// Package s3payloads stores payloads that are too large for a DynamoDB item in S3:
//
//	store, err := s3payloads.New(s3.NewFromConfig(awsConfig), "my-bucket", "payloads/")
//	registry := serialization.NewRegistry(serialization.External(store, 300_000))
//
// The command leftovers in this module finds the objects that nothing refers to.
package s3payloads

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/dynajournal/dynajournal/payloads"
	"github.com/dynajournal/dynajournal/serialization"
)

// Store stores each payload as an object of a bucket. It is safe for concurrent use.
type Store struct {
	client         *s3.Client
	bucket, prefix string
}

var _ payloads.Store = (*Store)(nil)

// New returns a store of the objects of a bucket whose keys begin with a prefix, such as
// "payloads/". It sends no request. The client's retries and timeouts apply. The settings of the
// bucket decide on encryption, replication and storage class; the bucket must not expire objects by
// itself.
func New(client *s3.Client, bucket, prefix string) (*Store, error) {
	if bucket == "" {
		return nil, errors.New("s3payloads: the bucket has no name")
	}
	return &Store{client, bucket, prefix}, nil
}

// Put stores an object, with the SDK's checksum of its bytes.
func (s *Store) Put(ctx context.Context, key string, data []byte) error {
	_, err := s.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &s.bucket, Key: aws.String(s.prefix + key), Body: bytes.NewReader(data),
		ContentLength: aws.Int64(int64(len(data))), ContentType: aws.String("application/octet-stream"),
	})
	if err != nil {
		return fmt.Errorf("put object %q to bucket %q: %w", s.prefix+key, s.bucket, err)
	}
	return nil
}

// Get reads an object, but at most limit+1 bytes of it.
func (s *Store) Get(ctx context.Context, key string, limit int) ([]byte, error) {
	object := s.prefix + key
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &object})
	if err != nil {
		if missing, ok := errors.AsType[*types.NoSuchKey](err); ok {
			return nil, fmt.Errorf("object %q of bucket %q: %w: %w", object, s.bucket, serialization.ErrPayloadMissing, missing)
		}
		return nil, fmt.Errorf("get object %q of bucket %q: %w", object, s.bucket, err)
	}
	data, err := io.ReadAll(io.LimitReader(out.Body, int64(limit)+1))
	if err = errors.Join(err, out.Body.Close()); err != nil {
		return nil, fmt.Errorf("read object %q of bucket %q: %w", object, s.bucket, err)
	}
	return data, nil
}

// List lists the objects below the prefix in the order of their keys, up to 1,000 with each
// request.
func (s *Store) List(ctx context.Context) iter.Seq2[payloads.Stored, error] {
	return func(yield func(payloads.Stored, error) bool) {
		pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &s.prefix})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(payloads.Stored{}, fmt.Errorf("list the objects of bucket %q: %w", s.bucket, err))
				return
			}
			for _, object := range page.Contents {
				stored := payloads.Stored{
					Key:   strings.TrimPrefix(aws.ToString(object.Key), s.prefix),
					Bytes: aws.ToInt64(object.Size), Time: aws.ToTime(object.LastModified),
				}
				if !yield(stored, nil) {
					return
				}
			}
		}
	}
}

// Delete deletes an object. A bucket with versioning retains the earlier versions.
func (s *Store) Delete(ctx context.Context, key string) error {
	object := s.prefix + key
	if _, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: &object}); err != nil {
		return fmt.Errorf("delete object %q of bucket %q: %w", object, s.bucket, err)
	}
	return nil
}
