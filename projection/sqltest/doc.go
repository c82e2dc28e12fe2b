// Package sqltest tests the projections into SQL databases with SQLite and with a PostgreSQL server
// that the tests start. It is a module of its own, so that nobody else needs the drivers.
package sqltest
