package storage

// Size returns the size of the store's files in bytes.
func (s *Store) Size() uint64 { return s.db.Metrics().DiskSpaceUsage() }
