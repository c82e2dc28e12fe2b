package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/applicationconf"
	"github.com/dynajournal/dynajournal/embedded"
)

// location has the flags that select the journal. A flag that is not set takes its value from the
// environment, or else from the file of --config.
type location struct {
	Endpoint string `xor:"location" placeholder:"URL" help:"Endpoint of a service ($DYNAJOURNAL_ENDPOINT, $AWS_ENDPOINT_URL_DYNAMODB, $AWS_ENDPOINT_URL). Default: none."`
	Data     string `xor:"location" placeholder:"DIR" help:"Folder of the embedded engine ($DYNAJOURNAL_DATA). Default: dynajournal in $XDG_STATE_HOME."`
	Memory   bool   `xor:"location" help:"Use an embedded engine in memory. It starts empty, and its data is lost when the command ends."`
	AWS      bool   `xor:"location" name:"aws" help:"Use DynamoDB on AWS, with the credentials and the region that the AWS SDK finds."`
	Region   string `placeholder:"R" help:"AWS region. Default: us-east-1 with an endpoint, otherwise the region that the AWS SDK finds ($AWS_REGION)."`

	JournalTable   string   `placeholder:"NAME" help:"Table of events. Default: pekko-persistence ($DYNAJOURNAL_JOURNAL_TABLE)."`
	SnapshotTable  string   `placeholder:"NAME" help:"Table of snapshots. Default: pekko-persistence-snapshot ($DYNAJOURNAL_SNAPSHOT_TABLE)."`
	JournalName    string   `placeholder:"NAME" help:"Name of the journal, the first part of its keys. Default: journal ($DYNAJOURNAL_JOURNAL_NAME)."`
	SequenceShards string   `placeholder:"N" help:"Number of shards of the marks. Default: the number in the journal's header, otherwise 10 ($DYNAJOURNAL_SEQUENCE_SHARDS)."`
	Layout         string   `type:"layout" enum:"${enum_layouts}" default:"current" placeholder:"L" help:"One of ${layouts}; see dynajournal help migrate. Default: current."`
	Config         string   `placeholder:"FILE" help:"An application.conf with the keys of the JVM plug-ins. Flags override it ($DYNAJOURNAL_CONFIG). Default: none."`
	AllowKey       []string `placeholder:"KEY" sep:"none" help:"Accept this key in the file of --config, which only an extension of the plug-ins reads. Can be repeated."`

	profile     string // of the AWS SDK; empty for the default profile
	allowLegacy bool   // the command works on the legacy layouts
	engineOnly  bool   // the command works on the embedded engine only
	// notes describe where a JVM interprets the file differently.
	// debug reports whether the file sets the log level to debug.
	notes []string
	debug bool
	// made is the folder of the embedded engine if the command created it.
	made string
	// sources are the sources of the settings, by field name, here and in dynajournal.Config. A
	// setting without a source has its default.
	sources sources
}

// The first two layouts. All others are legacy layouts.
const (
	layoutCurrent = "current"
	layoutPay     = "pay"
)

var layouts = []string{layoutCurrent, layoutPay, "hash-key", "hash-key-unprefixed", "naive", "naive-processor"}

// isLegacy reports whether --layout names a legacy layout, which only some commands support.
func (l *location) isLegacy() bool { return l.Layout != layoutCurrent && l.Layout != layoutPay }

// connection is an opened location.
type connection struct {
	config dynajournal.Config
	// engine is nil if the journal is not on an embedded engine.
	engine *embedded.Engine
	// place describes the location in errors.
	place string
}

// joinClosing joins the error of closing an engine to the error of using it. A failed storage
// returns the same error again from Close: joinClosing leaves that one out.
func joinClosing(err, closing error) error {
	if errors.Is(err, embedded.ErrStorageFailed) {
		return err
	}
	return errors.Join(err, closing)
}

func (c *connection) close() error {
	if c.engine == nil {
		return nil
	}
	return c.engine.Close()
}

// resolve sets each flag that is not set from the environment, or else from the file, and returns
// the configuration. Without any location it selects DynamoDB on AWS if the environment has an AWS
// region or AWS credentials: a command that is meant for AWS must not use a local folder instead.
// Otherwise it selects the default folder.
func (l *location) resolve() (dynajournal.Config, error) {
	c, err := l.resolveSet()
	if err != nil || l.isSet() {
		return c, err
	}
	if name := serviceVariable(); name != "" && !l.engineOnly {
		l.AWS, l.sources["AWS"] = true, "$"+name
		return c, nil
	}
	l.Data, err = defaultFolder()
	return c, err
}

// serviceVariable returns the environment variable that shows that AWS is meant, or an empty
// string.
func serviceVariable() string {
	for _, name := range append([]string{"AWS_REGION", "AWS_DEFAULT_REGION"}, credentialVariables...) {
		if os.Getenv(name) != "" {
			return name
		}
	}
	return ""
}

// resolveSet is like resolve, but it selects neither AWS because of the environment nor the default
// folder. A flag or a file with a region or credentials, and without an endpoint, selects AWS.
func (l *location) resolveSet() (dynajournal.Config, error) {
	path, file, err := l.plugins()
	if err != nil {
		return file.Config, err
	}
	l.sources = sourcesOf(l, file.Origins)
	l.Config = path
	if l.isLegacy() && !l.allowLegacy {
		return file.Config, usagef("this command does not support --layout %s: migrate the journal first, "+
			"or use append, events, highest, ids, list, delete, confirm or tables", l.Layout)
	}
	if !l.isSet() {
		l.Endpoint = l.sources.first("Endpoint", "", variables{"DYNAJOURNAL_ENDPOINT", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL"}, "")
	}
	if !l.isSet() {
		l.Data = l.sources.first("Data", "", variables{"DYNAJOURNAL_DATA"}, "")
	}
	if !l.isSet() {
		l.Endpoint = file.Config.Endpoint
	}
	if l.Endpoint == "" {
		delete(l.sources, "Endpoint") // the file's is not used
	}
	if !l.isSet() {
		for _, of := range []struct{ field, value string }{
			{"Region", first(l.Region, file.Region)}, {"AccessKeyID", file.Config.AccessKeyID},
		} {
			if of.value != "" && !l.AWS {
				l.AWS, l.sources["AWS"] = true, l.sources.of(of.field)
			}
		}
	}
	l.Region = l.sources.first("Region", l.Region, variables{"AWS_REGION"}, file.Region)
	c := file.Config
	c.Endpoint = l.Endpoint
	c.OldSnapshotFormat, c.OldEventFormat = l.Layout == layoutPay, l.Layout == layoutPay
	c.JournalTable = l.sources.first("JournalTable", l.JournalTable, variables{"DYNAJOURNAL_JOURNAL_TABLE"}, c.JournalTable)
	c.SnapshotTable = l.sources.first("SnapshotTable", l.SnapshotTable, variables{"DYNAJOURNAL_SNAPSHOT_TABLE"}, c.SnapshotTable)
	c.JournalName = l.sources.first("JournalName", l.JournalName, variables{"DYNAJOURNAL_JOURNAL_NAME"}, c.JournalName)
	if shards := l.sources.first("SequenceShards", l.SequenceShards, variables{"DYNAJOURNAL_SEQUENCE_SHARDS"}, ""); shards != "" {
		if c.SequenceShards, err = strconv.Atoi(shards); err != nil {
			return c, usagef("the number of sequence shards: %w", err)
		}
	}
	return c, nil
}

// plugins reads the configuration file of the JVM plug-ins. It also returns the name of the file,
// or an empty string if no file is given.
func (l *location) plugins() (path string, file applicationconf.Settings, err error) {
	if path = first(l.Config, os.Getenv("DYNAJOURNAL_CONFIG")); path == "" {
		return "", file, nil
	}
	options := make([]applicationconf.Option, len(l.AllowKey))
	for i, key := range l.AllowKey {
		options[i] = applicationconf.AllowKey(key)
	}
	if file, err = applicationconf.Load(path, options...); err != nil {
		return path, file, &usageError{withAllowKey(err)}
	}
	l.notes, l.debug = file.Notes, file.Debug
	return path, file, nil
}

// withAllowKey adds the flag that accepts the key to the error of an unknown key in a section.
func withAllowKey(err error) error {
	wrong, is := errors.AsType[*applicationconf.Error](err)
	if !is || !errors.Is(err, applicationconf.ErrUnknownKey) || !strings.Contains(wrong.Key, ".") {
		return err
	}
	return fmt.Errorf("%w (if an extension reads it, use --allow-key '%s')", err, wrong.Key)
}

func (l *location) isSet() bool { return l.Endpoint != "" || l.Data != "" || l.Memory || l.AWS }

// place describes a resolved location, for an error.
func (l *location) place() string {
	switch {
	case l.Memory:
		return "in memory"
	case l.Data != "":
		return "in the folder " + printable(l.Data)
	case l.Endpoint != "":
		return "at " + withoutPassword(l.Endpoint)
	default:
		return "at AWS"
	}
}

// describe returns a text that identifies a resolved location.
func (l *location) describe() string {
	return first(l.Endpoint, l.Data, "AWS") + " " + first(l.profile, l.Region, "default")
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// defaultFolder returns the folder of the data if no location is set.
func defaultFolder() (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // the XDG specification ignores a relative path
		home, err := os.UserHomeDir()
		if err != nil {
			return "", usagef("find the default folder for the data: %w: set --data", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "dynajournal"), nil
}

// open resolves the location and opens it. The options are for an embedded engine. Debug records,
// if the file of --config asks for them, go to logs.
func (l *location) open(
	ctx context.Context, logs io.Writer, options ...embedded.Option,
) (*connection, error) {
	c, err := l.resolve()
	if err != nil {
		return nil, err
	}
	if l.debug {
		c.Logger = slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	if l.engineOnly && !l.Memory && l.Data == "" {
		return nil, usagef("this command needs an embedded engine: use --data or --memory")
	}
	opened := &connection{config: c, place: l.place()}
	_, missing := os.Stat(l.Data)
	switch {
	case l.Memory:
		opened.engine, err = embedded.OpenMemory(options...)
	case l.Data != "":
		opened.engine, err = embedded.Open(l.Data, options...)
	default:
		if opened.config.AWS, err = l.aws(ctx, c.Endpoint); err == nil {
			err = opened.checkCredentials(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	if l.Data != "" && errors.Is(missing, fs.ErrNotExist) {
		l.made = l.Data
	}
	if opened.engine != nil {
		opened.config.AWS = opened.engine.AWSConfig()
		opened.config.AccessKeyID, opened.config.SecretAccessKey = "", ""
	}
	return opened, nil
}

// openEngine opens the embedded engine of the location.
func (l *location) openEngine(
	ctx context.Context, logs io.Writer, options ...embedded.Option,
) (*embedded.Engine, error) {
	l.engineOnly = true
	c, err := l.open(ctx, logs, options...)
	if err != nil {
		return nil, err
	}
	return c.engine, nil
}

// checkCredentials returns an error if neither the configuration nor the SDK has credentials.
func (c *connection) checkCredentials(ctx context.Context) error {
	if c.config.AccessKeyID != "" && c.config.SecretAccessKey != "" {
		return nil
	}
	if _, err := c.config.AWS.Credentials.Retrieve(ctx); err != nil {
		return usagef("no AWS credentials found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE: %w", err)
	}
	return nil
}

const defaultRegion = "us-east-1"

// aws returns the SDK's configuration for an endpoint, or for AWS if endpoint is empty.
func (l *location) aws(ctx context.Context, endpoint string) (aws.Config, error) {
	region := l.Region
	if endpoint != "" {
		host := hostOf(endpoint)
		region = first(region, regionOf(host), defaultRegion)
		if !ofAWS(host) && l.profile == "" && !credentialsSet() {
			return aws.Config{Region: region, Credentials: aws.CredentialsProviderFunc(dummyCredentials)}, nil
		}
	}
	// Without this logger, the SDK would write warnings to stderr, in addition to the one line of
	// an error.
	options := []func(*awsconfig.LoadOptions) error{awsconfig.WithLogger(logging.Nop{})}
	if region != "" {
		options = append(options, awsconfig.WithRegion(region))
	}
	if l.profile != "" {
		options = append(options, awsconfig.WithSharedConfigProfile(l.profile))
	}
	c, err := awsconfig.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return c, usagef("load the configuration of the AWS SDK: %w", err)
	}
	if c.Region == "" {
		return c, &usageError{errors.New("no AWS region is set: set --region")}
	}
	return c, nil
}

func hostOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

func ofAWS(host string) bool {
	return strings.HasSuffix(host, ".amazonaws.com") || strings.HasSuffix(host, ".amazonaws.com.cn")
}

// regionOf returns the region of an AWS endpoint, dynamodb.<region>.amazonaws.com, or an empty
// string for any other host.
func regionOf(host string) string {
	const service, region = 0, 1
	labels := strings.Split(host, ".")
	if !ofAWS(host) || len(labels) <= region || labels[service] != "dynamodb" || labels[region] == "amazonaws" {
		return ""
	}
	return labels[region]
}

// credentialVariables are the environment variables in which the SDK finds credentials.
var credentialVariables = []string{
	"AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
	"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
}

// credentialsSet reports whether the environment has AWS credentials, in any form that the SDK
// reads.
func credentialsSet() bool {
	return slices.ContainsFunc(credentialVariables, func(name string) bool { return os.Getenv(name) != "" })
}

// dummyCredentials returns credentials for an endpoint that does not check signatures.
func dummyCredentials(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "dummy", SecretAccessKey: "dummy", Source: "dynajournal"}, nil
}
