package provision

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// nativeIDsShards is the number of shards of the sparse ids index. Each shard accepts 1,000 new
// persistence ids a second, and a listing queries each shard.
const nativeIDsShards = 8

// missingHeader returns the header that a journal table with the description d lacks, or nil. It
// checks a stored header. A table without a header may already have the journal of a JVM, and only
// the JVM's configuration has its number of shards: such a table lacks a header only if
// SequenceShards is set.
func (j *Journal) missingHeader(
	ctx context.Context, client *dynamo.Client, d *types.TableDescription, opts Options, made bool,
) (*layout.Header, error) {
	want := layout.Header{Kind: layout.KindNative, Shards: 1, IDsShards: nativeIDsShards}
	if opts.SharedWithJVM {
		shards := cmp.Or(int64(j.SequenceShards), layout.DefaultShards)
		want = layout.Header{Kind: layout.KindShared, Shards: shards}
	}
	want.Version = layout.VersionOf(want.Kind)
	want.FenceWindow = int64(j.FenceWindow / time.Second)
	if err := checkSchema(d, layout.AttrNum); err != nil {
		return nil, err
	}
	item, err := j.getHeader(ctx, client)
	switch {
	case err != nil:
		return nil, err
	case item != nil:
		return nil, j.sameHeader(item, want)
	case !made && !opts.SharedWithJVM && !hasIndex(d, layout.NativeIDsIndex):
		return nil, fmt.Errorf("%w: the table exists without index %s, so it is a JVM's: share it with the JVM, or take another table and migrate",
			ErrHeaderMismatch, layout.NativeIDsIndex)
	case !made && opts.SharedWithJVM && j.SequenceShards == 0 && !hasIndex(d, layout.NativeIDsIndex):
		return nil, nil //nolint:nilnil // nil is a result
	}
	return &want, nil
}

// getHeader returns the item of the journal's header, or nil.
func (j *Journal) getHeader(ctx context.Context, client *dynamo.Client) (layout.Attributes, error) {
	return client.Get(ctx, &dynamo.Meter{}, j.Table, layout.Keys{Journal: j.Name}.Header().Attributes())
}

// putHeader puts the journal's header, unless an equal one was put meanwhile.
func (j *Journal) putHeader(ctx context.Context, client *dynamo.Client, header layout.Header) error {
	keys := layout.Keys{Journal: j.Name}
	err := client.Put(ctx, &dynamo.Meter{},
		dynamo.Put{Table: j.Table, Item: keys.EncodeHeader(header), Condition: protocol.NotExists})
	// Another client has just put it, or an earlier attempt of ours.
	if errors.Is(err, dynamo.ErrConditionFailed) {
		return j.sameHeader(dynamo.OldItem(err), header)
	}
	return err
}

// readHeader reads the journal's header. A journal without a header is a JVM's, and the
// configuration replaces the header. A table with the index of native journals must have a header,
// unless SequenceShards is set: a native journal that is mistaken for a JVM's would get marks that
// no process reads. t is nil if the table can't be described.
func (j *Journal) readHeader(
	ctx context.Context, client *dynamo.Client, t *types.TableDescription,
) (layout.Header, error) {
	item, err := j.getHeader(ctx, client)
	if err != nil {
		return layout.Header{}, fmt.Errorf("read the header: %w", err)
	}
	if item == nil && j.SequenceShards == 0 && t != nil && hasIndex(t, layout.NativeIDsIndex) {
		return layout.Header{}, ErrNoHeader
	}
	return j.headerOf(item)
}

// headerOf decodes a header, and checks it against the configuration. item is nil if the journal
// has no header. headerOf returns the header even with errOutdated.
func (j *Journal) headerOf(item layout.Attributes) (layout.Header, error) {
	keys := layout.Keys{Journal: j.Name}
	if item == nil {
		return layout.Header{
			Kind:        layout.KindShared,
			Shards:      cmp.Or(int64(j.SequenceShards), layout.DefaultShards),
			FenceWindow: cmp.Or(int64(j.FenceWindow/time.Second), layout.DefaultFenceWindow),
			Version:     layout.SharedVersion,
		}, nil
	}
	h, err := keys.DecodeHeader(item)
	if err != nil {
		return h, fmt.Errorf("%w: %w", ErrHeaderMismatch, protocol.InTable(j.Table, err))
	}
	if h.Version < 1 || h.Version > layout.VersionOf(h.Kind) {
		return h, fmt.Errorf("%w: it has format version %d, which this program does not know: use a newer release",
			ErrHeaderMismatch, h.Version)
	}
	if j.SequenceShards != 0 && int64(j.SequenceShards) != h.Shards {
		return h, fmt.Errorf("%w: it has %d sequence shards, Config.SequenceShards is %d: set it to %d or 0",
			ErrHeaderMismatch, h.Shards, j.SequenceShards, h.Shards)
	}
	if window := time.Duration(h.FenceWindow) * time.Second; j.FenceWindow != 0 && j.FenceWindow != window {
		return h, fmt.Errorf("%w: it has a fence window of %v, Config.FenceWindow is %v: set it to %v or 0",
			ErrHeaderMismatch, window, j.FenceWindow, window)
	}
	return h, checkVersion(h)
}

// errOutdated reports that an update can raise the version of a journal.
var errOutdated = errors.New("stop all processes of the earlier version, run `dynajournal tables update`, and wait 15 minutes")

// checkVersion refuses a native journal of an earlier format. An earlier version of this program
// would remove attributes of low marks that this version needs.
func checkVersion(h layout.Header) error {
	switch now := layout.VersionOf(h.Kind); {
	case h.Version == now:
		return nil
	case h.Shards > 1:
		return fmt.Errorf("%w: the native journal has format version %d with %d sequence shards, and version %d has 1: "+
			"export the journal with the earlier version of this program, and import it into a new one",
			ErrHeaderMismatch, h.Version, h.Shards, now)
	default:
		return fmt.Errorf("%w: the native journal has format version %d, and this program writes version %d: %w",
			ErrHeaderMismatch, h.Version, now, errOutdated)
	}
}

// raiseVersion raises the version of an outdated header. It reports false if the header has changed
// since it was read.
func (j *Journal) raiseVersion(ctx context.Context, client *dynamo.Client, h layout.Header) (bool, error) {
	before := &types.AttributeValueMemberN{Value: strconv.FormatInt(h.Version, 10)}
	h.Version = layout.VersionOf(h.Kind)
	err := client.Put(ctx, &dynamo.Meter{}, dynamo.Put{
		Table:     j.Table,
		Item:      layout.Keys{Journal: j.Name}.EncodeHeader(h),
		Condition: layout.AttrVersion + " = :before",
		Values:    dynamo.Attributes{":before": before},
	})
	if errors.Is(err, dynamo.ErrConditionFailed) {
		return false, nil
	}
	return err == nil, err
}

// sameHeader checks that a stored header is of the wanted kind, and fits the configuration.
func (j *Journal) sameHeader(item layout.Attributes, want layout.Header) error {
	h, err := j.headerOf(item)
	if err != nil {
		return err
	}
	if h.Kind != want.Kind {
		return fmt.Errorf("%w: there is a %s journal %q in the table", ErrHeaderMismatch, h.Kind, j.Name)
	}
	return nil
}
