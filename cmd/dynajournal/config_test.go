package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
)

// configured returns the settings that the command shows, by their keys.
func configured(t *testing.T, args ...string) map[string]settingResult {
	t.Helper()
	shown := map[string]settingResult{}
	for _, r := range must(t, append([]string{"config", "--output", "json"}, args...)...) {
		if got := keys(r); got != "key source value" {
			t.Errorf("keys %q", got)
		}
		key := r["key"].(string)
		if _, twice := shown[key]; twice {
			t.Errorf("%s is shown twice", key)
		}
		shown[key] = settingResult{key, r["value"].(string), r["source"].(string)}
	}
	return shown
}

// Every flag of the location is shown with its effective value, and so is every field of Config
// that is a text, a number, a duration or a switch.
func TestConfigShowsEverySetting(t *testing.T) {
	clean(t)
	shown := configured(t, "--endpoint", "http://localhost:1")
	want := func(prefix string, fields reflect.Type) {
		for field := range fields.Fields() {
			switch field.Type.Kind() { //nolint:exhaustive // only a program sets the others
			case reflect.String, reflect.Bool, reflect.Int, reflect.Int64:
				r, there := shown[prefix+settingKey(field)]
				if field.IsExported() && !there {
					t.Errorf("%s%s is not shown", prefix, field.Name)
				}
				if r.Value == "0" || r.Value == "0s" {
					t.Errorf("%s is %s, which is not what is in effect", r.Key, r.Value)
				}
			}
		}
	}
	want("", reflect.TypeFor[location]())
	want("", reflect.TypeFor[dynajournal.Config]())
	want("http.", reflect.TypeFor[dynajournal.HTTPConfig]())
}

func TestConfigNamesTheSourceOfASetting(t *testing.T) {
	clean(t)
	file := filepath.Join(t.TempDir(), "application.conf")
	text := `dynamodb-journal {
  endpoint = "http://file:1"
  journal-table = of-the-file
  journal-name = of-the-file
  sequence-shards = 7
  aws-client-config.request-timeout = 800
}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DYNAJOURNAL_JOURNAL_NAME", "of-the-environment")
	t.Setenv("DYNAJOURNAL_SEQUENCE_SHARDS", "3")
	shown := configured(t, "--config", file, "--journal-table", "of-the-flag", "--layout", "pay")
	for _, want := range []settingResult{
		{"endpoint", "http://file:1", file + ":2, dynamodb-journal.endpoint"},
		{"journal-table", "of-the-flag", "--journal-table"},
		{"journal-name", "of-the-environment", "$DYNAJOURNAL_JOURNAL_NAME"},
		{"sequence-shards", "3", "$DYNAJOURNAL_SEQUENCE_SHARDS"},
		{"attempt-timeout", (800 * time.Millisecond).String(), file + ":6, dynamodb-journal.aws-client-config.request-timeout"},
		{"snapshot-table", dynajournal.DefaultSnapshotTable, byDefault},
		{"old-event-format", "true", "--layout"},
		{"config", file, "--config"},
		{"region", defaultRegion, byDefault},
		{"credentials", "any, because the endpoint is not AWS", byDefault},
	} {
		if got := shown[want.Key]; got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	// The endpoint of the file is not used.
	other := configured(t, "--config", file, "--data", "/elsewhere")
	if got := other["endpoint"]; got.Value != "" || got.Source != byDefault {
		t.Errorf("the endpoint of a folder is %+v", got)
	}
	if got := other["data"]; got.Source != "--data" {
		t.Errorf("the folder is %+v", got)
	}
}

func TestConfigShowsWhatTheSDKFinds(t *testing.T) {
	clean(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDAKIDAKID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hidden")
	t.Setenv("AWS_DEFAULT_REGION", "eu-north-1")
	shown := configured(t, "--aws")
	for _, want := range []settingResult{
		{"aws", "true", "--aws"},
		{"region", "eu-north-1", "the AWS SDK"},
		{"credentials", "found by the AWS SDK", "$AWS_ACCESS_KEY_ID"},
	} {
		if got := shown[want.Key]; got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func TestConfigMasksSecrets(t *testing.T) {
	clean(t)
	file := filepath.Join(t.TempDir(), "application.conf")
	text := `dynamodb-journal {
  endpoint = "http://me:hidden1@localhost:1"
  aws-access-key-id = hidden2
  aws-secret-access-key = hidden3
  aws-client-config { proxy-host = p, proxy-username = u, proxy-password = "hidden4@/%" }
}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, output := range []string{"text", "json"} {
		o := invoke(t.Context(), "", "config", "--config", file, "--output", output)
		if o.status != statusDone || !strings.Contains(o.out, "me:****@localhost:1") || !strings.Contains(o.out, "u:****@p") {
			t.Errorf("%+v", o)
		}
		if strings.Contains(o.out+o.err, "hidden") {
			t.Errorf("a secret is shown: %s", o.out)
		}
	}
	for _, endpoint := range []string{"http://me:hidden@host:x", "http://[::1", "http://me:hid%zzden@host"} {
		o := invoke(t.Context(), "", "config", "--endpoint", endpoint)
		if o.status == statusDone && strings.Contains(o.out, "hid") {
			t.Errorf("%s: a secret is shown: %s", endpoint, o.out)
		}
	}
}

// The command neither creates a folder nor connects.
func TestConfigOpensNothing(t *testing.T) {
	clean(t)
	folder := filepath.Join(t.TempDir(), "none")
	configured(t, "--data", folder)
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder is there: %v", err)
	}
	for _, args := range [][]string{{"--sequence-shards", "many"}, {"--sequence-shards", "-1"}, {"--config", folder}, {"--layout", "none"}} {
		if o := invoke(t.Context(), "", append([]string{"config"}, args...)...); o.status == statusDone || o.err == "" {
			t.Errorf("%q: %+v", args, o)
		}
	}
	configured(t, "--layout", "hash-key")
}
