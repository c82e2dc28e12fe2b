package archive

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
)

// Contents are what a whole archive holds.
type Contents struct {
	Totals
	// Checksum is that of all persistence ids.
	Checksum Checksum
	// finalLow are the low marks that histories end with, where deletions moved them while they
	// were exported.
	finalLow map[idHash]int64
}

// idHash identifies a persistence id in 16 bytes.
type idHash [sha256.Size / 2]byte

func hashOf(pid string) idHash {
	sum := sha256.Sum256([]byte(pid))
	return idHash(sum[:])
}

// Digest begins the checksum of a persistence id of the archive, or of what a journal holds of it.
func (c *Contents) Digest(pid string) *Digest { return NewDigest(pid, c.finalLow[hashOf(pid)]) }

// maxMoved bounds how many low marks may have moved during an export, as they are kept in memory.
// A low mark moves so only in the moment in which its persistence id is read.
const maxMoved = 1 << 17

// Check reads a whole archive, which finds any damage, and returns what it holds. Snapshots may
// have maxSnapshot bytes. each, if it is not nil, is given the checksum of every persistence id
// with its history as it was told, which is what NewDigest computes without a final low mark.
func Check(in io.ReadSeeker, maxSnapshot int64, each func(pid string, told Checksum) error) (Contents, error) {
	c := Contents{finalLow: map[idHash]int64{}}
	err := c.pass(in, maxSnapshot, func(pid string, d *Digest) error {
		told := d.Sum()
		if !d.moved {
			c.Checksum.Add(told)
		} else if c.finalLow[hashOf(pid)] = d.told; len(c.finalLow) > maxMoved {
			return &Error{PersistenceID: pid, Kind: ErrDamaged, Detail: "the low marks of too many persistence ids have moved"}
		}
		if each == nil {
			return nil
		}
		return each(pid, told)
	})
	if err != nil || len(c.finalLow) == 0 {
		return c, err
	}
	// What counts of a history whose low mark has moved is only known now.
	moved := c.finalLow
	return c, c.pass(in, maxSnapshot, func(pid string, d *Digest) error {
		if _, ok := moved[hashOf(pid)]; ok {
			c.Checksum.Add(d.Sum())
		}
		return nil
	})
}

// readAhead is how many bytes are read from the file at once.
const readAhead = 1 << 20

// pass reads the archive from its beginning, and hands out the digest of each persistence id.
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

// Take takes the next record or snapshot of an archive.
func (d *Digest) Take(item *Item) {
	switch {
	case item.Record != nil:
		d.Record(item.Record)
	case item.Snapshot != nil:
		d.Snapshot(item.Snapshot)
	}
}
