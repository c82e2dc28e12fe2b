package storage

// Size returns how many bytes the store's files take.
func (s *Store) Size() uint64 { return s.db.Metrics().DiskSpaceUsage() }
