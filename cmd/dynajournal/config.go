package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
)

type configCommand struct{}

// settingResult is an effective setting.
type settingResult struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

func (r settingResult) text() string {
	return fmt.Sprintf("%-29s %-30s %s", r.Key, printable(r.Value), r.Source)
}

// Help returns more about the command.
func (configCommand) Help() string {
	return "It sends no requests, and does not open the engine. Secrets are masked. " +
		"Each key is the name of a flag, or a field of Config that has no flag."
}

// Run runs the command.
func (configCommand) Run(ctx context.Context, s *session) error {
	l := s.location
	l.allowLegacy = true
	c, err := l.resolve()
	if err != nil {
		return err
	}
	c.AWS = aws.Config{Region: first(l.Region, defaultRegion)}
	if !l.Memory && l.Data == "" {
		if c.AWS, err = l.aws(ctx, c.Endpoint); err != nil {
			return err
		}
	}
	settings, err := l.settings(c)
	if err != nil {
		return err
	}
	for _, r := range settings {
		if err := s.result.write(r); err != nil {
			return err
		}
	}
	return nil
}

// settings returns the effective settings of a resolved location: first the flags, then the fields
// of the configuration that have no flag.
func (l *location) settings(c dynajournal.Config) ([]settingResult, error) {
	client, err := core.Connect(&c) // which fills in the defaults
	if err != nil {
		return nil, err
	}
	client.Close()
	region := l.sources.of("Region")
	if l.Region == "" && c.AWS.Region != defaultRegion {
		region = "the endpoint"
		if l.Endpoint == "" {
			region = "the AWS SDK"
		}
	}
	l.Region = c.AWS.Region
	l.sources["Region"] = region
	all := []settingResult{}
	seen := map[string]bool{}
	add := func(prefix string, fields reflect.Value) {
		for i := range fields.NumField() {
			field := fields.Type().Field(i)
			value, shown := shownValue(prefix+field.Name, fields.Field(i))
			if field.IsExported() && shown && !seen[prefix+field.Name] {
				key := strings.ToLower(prefix) + settingKey(field)
				all = append(all, settingResult{key, value, l.sources.of(prefix + field.Name)})
			}
			seen[prefix+field.Name] = true
		}
	}
	effective := *l
	effective.JournalTable, effective.SnapshotTable, effective.JournalName = c.JournalTable, c.SnapshotTable, c.JournalName
	effective.SequenceShards, _ = shownValue("SequenceShards", reflect.ValueOf(c.SequenceShards))
	add("", reflect.ValueOf(effective))
	all = append(all, l.credentials(&c))
	add("", reflect.ValueOf(c))
	add("HTTP.", reflect.ValueOf(c.HTTP))
	return all, nil
}

// settingKey returns the key of a field, which is also the name of its flag.
func settingKey(field reflect.StructField) string {
	if name := field.Tag.Get("name"); name != "" {
		return name
	}
	var key strings.Builder
	letters := []rune(acronyms.Replace(field.Name))
	for i, r := range letters {
		upper := r >= 'A' && r <= 'Z'
		if upper && i > 0 {
			key.WriteByte('-')
		}
		key.WriteString(strings.ToLower(string(r)))
	}
	return key.String()
}

// acronyms writes the acronyms in the names of fields as words.
var acronyms = strings.NewReplacer("IDs", "Ids", "ID", "Id", "SDK", "Sdk")

// defaultTexts has the values to show for fields whose zero value selects a default elsewhere.
var defaultTexts = map[string]string{
	"ConnectAhead":         "none",
	"FenceWindow":          "of the journal's header, or 24h",
	"SequenceShards":       "of the journal's header, or 10",
	"HTTP.IdleTimeout":     "1m30s",
	"HTTP.KeepAlive":       "15s",
	"HTTP.LocalAddress":    "any",
	"HTTP.Proxy":           "the environment's",
	"HTTP.ReadBuffer":      "4096",
	"HTTP.ResponseTimeout": "none",
	"HTTP.WriteBuffer":     "32768",
}

const masked = "****"

// shownValue returns the text of a field's value. It reports false for types that are not shown,
// because only a program can set them.
func shownValue(name string, field reflect.Value) (string, bool) {
	if text, has := defaultTexts[name]; has && field.IsZero() {
		return text, true
	}
	switch field.Kind() { //nolint:exhaustive // the others are not shown
	case reflect.String:
		text := field.String()
		switch name {
		case "AccessKeyID", "SecretAccessKey":
			if text != "" {
				text = masked
			}
		case "Endpoint", "HTTP.Proxy":
			text = withoutPassword(text)
		}
		return text, true
	case reflect.Bool:
		return fmt.Sprint(field), true
	case reflect.Int, reflect.Int64:
		if d, is := reflect.TypeAssert[time.Duration](field); is && d < 0 {
			return "none", true
		}
		return fmt.Sprint(field), true
	}
	return "", false
}

// withoutPassword returns a URL with its password masked.
func withoutPassword(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return masked // it may contain a password
	}
	if _, has := u.User.Password(); has {
		return strings.Replace(u.Redacted(), ":xxxxx@", ":"+masked+"@", 1)
	}
	return text
}

// credentials returns the source of the credentials that sign requests. It does not retrieve them,
// because the SDK may have to send requests for that.
func (l *location) credentials(c *dynajournal.Config) settingResult {
	r := settingResult{Key: "credentials", Source: byDefault}
	switch {
	case l.Memory || l.Data != "":
		r.Value = "not needed"
	case c.AccessKeyID != "":
		r.Value, r.Source = "the access key", l.sources.of("AccessKeyID")
	case l.Endpoint != "" && !ofAWS(hostOf(l.Endpoint)) && l.profile == "" && !credentialsSet():
		r.Value = "any, because the endpoint is not AWS"
	default:
		r.Value, r.Source = "found by the AWS SDK", "the AWS SDK"
		for _, name := range credentialVariables {
			if os.Getenv(name) != "" {
				r.Source = "$" + name
				break
			}
		}
	}
	return r
}
