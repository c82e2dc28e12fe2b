package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dynajournal/dynajournal/embedded/internal/storage"
)

// loadTables reads the schemas of all tables. It is called once, before the engine is used.
func (e *Engine) loadTables() error {
	it, err := e.store.Iterate([]byte{schemaSpace}, []byte{schemaSpace + 1})
	if err != nil {
		return fmt.Errorf("reading the tables: %w", err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		if err = e.loadTable(it.Value()); err != nil {
			break
		}
	}
	if err = joinClose(err, it); err != nil {
		return fmt.Errorf("reading the tables: %w", err)
	}
	return nil
}

func (e *Engine) loadTable(stored []byte, err error) error {
	if err != nil {
		return err
	}
	s := new(schema)
	if err := json.Unmarshal(stored, s); err != nil {
		return fmt.Errorf("decoding a schema: %w", err)
	}
	e.nextTable = max(e.nextTable, s.ID+1)
	t := e.newTable(s)
	e.tables[s.Name] = t
	for _, i := range s.Indexes {
		if i.Status == statusCreating {
			e.startBackfill(t, i)
		}
	}
	return nil
}

// storedSchema returns the schema of a table in a state of the store, or nil if the state does not
// have the table.
func storedSchema(from storage.Reader, name string) (*schema, error) {
	s := new(schema)
	found, err := from.Get(schemaKey(name), func(stored []byte) error { return json.Unmarshal(stored, s) })
	if err != nil {
		return nil, fmt.Errorf("reading the schema of %s: %w", name, err)
	}
	if !found {
		return nil, nil //nolint:nilnil // nil is a result
	}
	return s, nil
}

func (e *Engine) newTable(s *schema) *table {
	t := &table{schema: s, units: e.count.table(s.Name), limits: e.options.limits()}
	t.items.Store(s.Items)
	t.bytes.Store(s.Bytes)
	if s.TimeToLive != "" {
		e.startSweeper()
	}
	return t
}

// saveSchema stores the schema, in one commit with the writes that the functions add to the batch.
func (e *Engine) saveSchema(s *schema, also ...func(*storage.Batch)) error {
	stored, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encoding the schema of %s: %w", s.Name, err)
	}
	batch := e.store.NewBatch()
	batch.Set(schemaKey(s.Name), stored)
	for _, add := range also {
		add(batch)
	}
	if err := batch.Commit(); err != nil {
		return fmt.Errorf("storing the schema of %s: %w", s.Name, err)
	}
	return nil
}

// changeSchema changes a copy of the table's schema and stores it, in one commit with the writes
// that the functions add to the batch. The caller holds the table's lock exclusively.
func (e *Engine) changeSchema(t *table, change func(s *schema), also ...func(*storage.Batch)) error {
	s := *t.schema
	s.Items, s.Bytes = t.items.Load(), t.bytes.Load()
	change(&s)
	if err := e.saveSchema(&s, also...); err != nil {
		return err
	}
	t.schema = &s
	return nil
}

// saveSizes stores the sizes of the tables.
func (e *Engine) saveSizes() error {
	var errs []error
	for _, t := range e.tables {
		errs = append(errs, e.changeSchema(t, func(*schema) {}))
	}
	return errors.Join(errs...)
}

// tableName returns the name of a table that is given by its name or its ARN.
func tableName(given string) string {
	if !strings.HasPrefix(given, "arn:") {
		return given
	}
	if _, name, found := strings.Cut(given, ":table/"); found {
		name, _, _ = strings.Cut(name, "/")
		return name
	}
	return given
}

func (e *Engine) lookup(name string) *table {
	e.tablesLock.RLock()
	defer e.tablesLock.RUnlock()
	return e.tables[tableName(name)]
}

// shared looks up a table and acquires its lock shared. The caller calls t.lock.RUnlock.
func (e *Engine) shared(name string) (*table, error) {
	if t := e.lookup(name); t != nil {
		t.lock.RLock()
		if !t.dropped {
			return t, nil
		}
		t.lock.RUnlock()
	}
	return nil, notFound(tableNotFound)
}

// exclusive looks up a table and acquires its lock exclusively. The caller calls t.lock.Unlock.
func (e *Engine) exclusive(name string) (*table, error) {
	if t := e.lookup(name); t != nil {
		t.lock.Lock()
		if !t.dropped {
			return t, nil
		}
		t.lock.Unlock()
	}
	return nil, notFound("Requested resource not found: Table: " + tableName(name) + " not found")
}

// sharedAll looks up tables and acquires their locks shared, in the order of their names: a waiting
// writer blocks later readers, so another order could deadlock. It returns the tables by the names
// as given, and a function that releases the locks.
func (e *Engine) sharedAll(names []string) (map[string]*table, func(), error) {
	byName := map[string]*table{}
	for _, name := range names {
		byName[tableName(name)] = nil
	}
	locked := make([]*table, 0, len(byName))
	release := func() {
		for _, t := range locked {
			t.lock.RUnlock()
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		t, err := e.shared(name)
		if err != nil {
			release()
			return nil, nil, err
		}
		locked = append(locked, t)
		byName[name] = t
	}
	tables := make(map[string]*table, len(names))
	for _, name := range names {
		tables[name] = byName[tableName(name)]
	}
	return tables, release, nil
}
