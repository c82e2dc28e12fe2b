package doctor_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/doctor"
)

// policed is an HTTP client that denies actions that a policy of docs/aws does not allow.
type policed struct {
	inner aws.HTTPClient
	// allowed has actions with their resources, such as dynamodb:Query table/x/index/y.
	allowed []string
}

func newPoliced(t *testing.T, inner aws.HTTPClient, file string) *policed {
	t.Helper()
	text, err := os.ReadFile("../docs/aws/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var policy struct {
		Statement []struct {
			Action   []string
			Resource string
		}
	}
	if err := json.Unmarshal(text, &policy); err != nil {
		t.Fatal(err)
	}
	p := &policed{inner: inner}
	for _, s := range policy.Statement {
		_, resource, _ := strings.Cut(s.Resource, ":table/")
		resource, _, _ = strings.Cut(resource, "/stream/")
		for _, action := range s.Action {
			p.allowed = append(p.allowed, action+" "+resource)
		}
	}
	return p
}

func (p *policed) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if operation == "ExecuteStatement" || operation == "BatchExecuteStatement" {
		operation = "PartiQLInsert"
	}
	resource := dynajournal.DefaultJournalTable
	for _, table := range []string{projections, dynajournal.DefaultSnapshotTable} {
		if bytes.Contains(body, []byte(`"`+table+`"`)) {
			resource = table
		}
	}
	var named struct{ IndexName string }
	if json.Unmarshal(body, &named) == nil && named.IndexName != "" {
		resource += "/index/" + named.IndexName
	}
	if !slices.Contains(p.allowed, "dynamodb:"+operation+" "+resource) {
		return respond(`{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"not authorized"}`), nil
	}
	return p.inner.Do(r)
}

// With the policies of the page nothing is an error. Descriptions that they do not allow are
// unknown.
func TestRun_PoliciesOfThePage(t *testing.T) {
	for file, c := range map[string]struct {
		roles []doctor.Role
		want  []string
	}{
		"service-policy.json":     {[]doctor.Role{doctor.RoleService}, []string{"unknown table.snapshots", "unknown ttl.journal"}},
		"projections-policy.json": {[]doctor.Role{doctor.RoleProjections}, []string{"unknown ttl.journal"}},
	} {
		t.Run(file, func(t *testing.T) {
			p := newPatient(t, dynajournal.TableOptions{})
			p.config.AWS.HTTPClient = newPoliced(t, p.config.AWS.HTTPClient, file)
			p.want(doctor.Options{Roles: c.roles}, c.want...)
		})
	}
}
