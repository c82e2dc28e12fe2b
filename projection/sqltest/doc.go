// Package sqltest tests the projections into SQL databases with SQLite and with a PostgreSQL server
// that the tests start. It is a separate module, so that other programs do not need the drivers.
package sqltest
