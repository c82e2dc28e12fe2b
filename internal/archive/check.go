package archive

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
)

// Contents describes a complete archive.
type Contents struct {
	Totals
	// Checksum is the checksum of all persistence ids.
	Checksum Checksum
	// finalLow are the last low marks of histories whose low mark has moved during the export.
	finalLow map[idHash]int64
}

// idHash identifies a persistence id in 16 bytes.
type idHash [sha256.Size / 2]byte

func hashOf(pid string) idHash {
	sum := sha256.Sum256([]byte(pid))
	return idHash(sum[:])
}

// Digest starts the checksum of a persistence id of the archive, or of the same id in a journal.
func (c *Contents) Digest(pid string) *Digest { return NewDigest(pid, c.finalLow[hashOf(pid)]) }

// maxMoved limits the low marks that may have moved during an export, because they are kept in
// memory. A low mark counts only if it moved while its persistence id was being read.
const maxMoved = 1 << 17

// Check reads a whole archive, finds any damage, and returns the contents. A snapshot may have up
// to maxSnapshot bytes. each, if not nil, is called for every persistence id with the checksum of
// its records, which NewDigest computes without a final low mark.
func Check(in io.ReadSeeker, maxSnapshot int64, each func(pid string, sum Checksum) error) (Contents, error) {
	c := Contents{finalLow: map[idHash]int64{}}
	err := c.pass(in, maxSnapshot, func(pid string, d *Digest) error {
		sum := d.Sum()
		if !d.moved {
			c.Checksum.Add(sum)
		} else if c.finalLow[hashOf(pid)] = d.lastLow; len(c.finalLow) > maxMoved {
			return &Error{PersistenceID: pid, Kind: ErrDamaged,
				Detail: "the low marks of too many persistence ids have moved"}
		}
		if each == nil {
			return nil
		}
		return each(pid, sum)
	})
	if err != nil || len(c.finalLow) == 0 {
		return c, err
	}
	// The last low mark of each history, which decides what counts, is known only now.
	moved := c.finalLow
	return c, c.pass(in, maxSnapshot, func(pid string, d *Digest) error {
		if _, ok := moved[hashOf(pid)]; ok {
			c.Checksum.Add(d.Sum())
		}
		return nil
	})
}

// readAhead is the size of a read from the file.
const readAhead = 1 << 20

// pass reads the archive from its beginning, and calls ended with the digest of each persistence
// id.
func (c *Contents) pass(in io.ReadSeeker, maxSnapshot int64, ended func(string, *Digest) error) error {
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read the archive: %w", err)
	}
	r, err := NewReader(bufio.NewReaderSize(in, readAhead), maxSnapshot)
	if err != nil {
		return err
	}
	defer r.Close()
	var d *Digest
	for {
		item, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			c.Totals = r.Totals()
			return nil
		case err != nil:
			return err
		case item.End:
			if err := ended(item.PersistenceID, d); err != nil {
				return err
			}
		default:
			if item.Record == nil && item.Snapshot == nil {
				d = c.Digest(item.PersistenceID)
				continue
			}
			d.Take(&item)
		}
	}
}

// Take adds an item of an archive.
func (d *Digest) Take(item *Item) {
	switch {
	case item.Record != nil:
		d.Record(item.Record)
	case item.Snapshot != nil:
		d.Snapshot(item.Snapshot)
	}
}
