package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/sqlprojection"
)

// unreachable is a database that is down.
type unreachable struct{}

func (unreachable) Connect(context.Context) (driver.Conn, error) {
	return nil, errors.New("connection refused")
}

func (unreachable) Driver() driver.Driver { return nil }

// Commands that leave out SQL projections say so, and fail if such a projection is named.
func TestProjections_LeftOutAreNamed(t *testing.T) {
	p := newProjecting(t)
	must(t, p.at("append a --string x")...)
	db := sql.OpenDB(unreachable{})
	defer func() { _ = db.Close() }()
	handle := func(context.Context, *sql.Tx, dynajournal.Event) error { return nil }
	group, err := projection.New(p.journal, projection.Config{Name: "billing"},
		sqlprojection.New("effects", db, sqlprojection.Postgres, sqlprojection.HandlerFunc(handle)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	ended := make(chan error, 1)
	go func() { ended <- group.Run(ctx) }()
	p.until("projections list", func(found []map[string]any) bool { return len(found) == 1 })
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	const says = "left out, because their offsets are in their own database: billing/effects (sql)."
	for _, args := range []string{"projections verify", "projections lag --ids"} {
		if o := invoke(t.Context(), "", p.at(args)...); o.status != statusDone || !strings.Contains(o.err, says) {
			t.Errorf("%s: %+v", args, o)
		}
		o := invoke(t.Context(), "", append(p.at(args), "billing/effects")...)
		if o.status != statusFailed || !strings.Contains(o.err, projection.ErrUnsupported.Error()) {
			t.Errorf("%s of a projection of SQL: %+v", args, o)
		}
	}
}
