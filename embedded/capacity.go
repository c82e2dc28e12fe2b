package embedded

import (
	"strconv"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

const (
	readUnitBytes  = 4096
	writeUnitBytes = 1024
)

// consumption is the capacity that a request consumes on one table. It is counted in half units of
// DynamoDB, the smallest amount that exists.
type consumption struct {
	table *table
	// read and write are consumed by the table itself, without its indexes.
	read, write int
	indexes     []indexConsumption
	// failed is consumed by failed statements of a batch. It is part of the total, but not of the
	// units of the table and its indexes.
	failed int
	// doubled is set for transactions, which consume twice as many units of the table, but not of
	// its indexes (measured in nubo-db/dynoxide, tests/transactional_index_consumed_capacity.rs,
	// August 2026).
	doubled bool
}

type indexConsumption struct {
	index       *index
	read, write int
}

// readUnits returns the cost of reading size bytes, in half units. Reading a missing item costs as
// much as reading the smallest item.
func readUnits(size int, consistent bool) int {
	units := max(1, (size+readUnitBytes-1)/readUnitBytes)
	if consistent {
		return 2 * units
	}
	return units
}

// writeUnits returns the cost of writing an item of size bytes, in half units.
func writeUnits(size int) int {
	return 2 * max(1, (size+writeUnitBytes-1)/writeUnitBytes)
}

func (c *consumption) factor() int {
	if c.doubled {
		return 2
	}
	return 1
}

func (c *consumption) addRead(i *index, units int) {
	units *= c.factor()
	if i == nil {
		c.read += units
		return
	}
	c.of(i).read += units
}

func (c *consumption) addWrite(i *index, units int) {
	if i == nil {
		c.write += units * c.factor()
		return
	}
	c.of(i).write += units
}

func (c *consumption) of(i *index) *indexConsumption {
	for n := range c.indexes {
		if c.indexes[n].index.ID == i.ID {
			return &c.indexes[n]
		}
	}
	c.indexes = append(c.indexes, indexConsumption{index: i})
	return &c.indexes[len(c.indexes)-1]
}

// add adds the consumption of a statement.
func (c *consumption) add(other *consumption) {
	c.read += other.read
	c.write += other.write
	for _, i := range other.indexes {
		of := c.of(i.index)
		of.read += i.read
		of.write += i.write
	}
}

// total returns the consumption of the table and its indexes, failed statements included.
func (c *consumption) total() (read, write int) {
	read, write = c.read, c.write+c.failed
	for _, i := range c.indexes {
		read += i.read
		write += i.write
	}
	return read, write
}

// charge adds the consumption to the engine's counters.
func (c *consumption) charge() {
	read, write := c.total()
	if read != 0 {
		c.table.units.read.Add(int64(read))
	}
	if write != 0 {
		c.table.units.write.Add(int64(write))
	}
}

// wanted reports whether ReturnConsumedCapacity asks for the consumption.
func wanted(show *string) bool { return show != nil && *show != none }

func appendUnits(dst []byte, half int) []byte {
	return strconv.AppendFloat(dst, float64(half)/2, 'f', 1, 64)
}

// append appends the consumption as JSON.
func (c *consumption) append(dst []byte, show string) []byte {
	read, write := c.total()
	dst = append(dst, `{"TableName":`...)
	dst = attribute.AppendText(dst, c.table.Name)
	dst = appendName(dst, "CapacityUnits")
	dst = appendUnits(dst, read+write)
	dst = c.appendSplit(dst, read, write)
	if show == showIndexes {
		dst = appendName(dst, "Table")
		dst = c.appendOne(dst, c.read, c.write)
		dst = c.appendIndexes(dst, "LocalSecondaryIndexes", true)
		dst = c.appendIndexes(dst, "GlobalSecondaryIndexes", false)
	}
	return append(dst, '}')
}

// appendSplit appends reads and writes separately, for transactions.
func (c *consumption) appendSplit(dst []byte, read, write int) []byte {
	if !c.doubled {
		return dst
	}
	if read != 0 {
		dst = appendName(dst, "ReadCapacityUnits")
		dst = appendUnits(dst, read)
	}
	if write != 0 {
		dst = appendName(dst, "WriteCapacityUnits")
		dst = appendUnits(dst, write)
	}
	return dst
}

func (c *consumption) appendOne(dst []byte, read, write int) []byte {
	dst = append(dst, `{"CapacityUnits":`...)
	dst = appendUnits(dst, read+write)
	dst = c.appendSplit(dst, read, write)
	return append(dst, '}')
}

func (c *consumption) appendIndexes(dst []byte, name string, local bool) []byte {
	n := 0
	for _, i := range c.indexes {
		if i.index.Local != local {
			continue
		}
		if n == 0 {
			dst = appendName(dst, name)
			dst = append(dst, '{')
		}
		dst = separate(dst, n)
		dst = attribute.AppendText(dst, i.index.Name)
		dst = append(dst, ':')
		dst = c.appendOne(dst, i.read, i.write)
		n++
	}
	if n > 0 {
		dst = append(dst, '}')
	}
	return dst
}

// appendCapacities appends the member ConsumedCapacity with a list, if show asks for it.
func (c *call) appendCapacities(used []consumption, show *string) {
	if !wanted(show) {
		return
	}
	c.out = appendName(c.out, "ConsumedCapacity")
	c.out = append(c.out, '[')
	for i := range used {
		c.out = separate(c.out, i)
		c.out = used[i].append(c.out, *show)
	}
	c.out = append(c.out, ']')
}

// appendCapacity appends the member ConsumedCapacity, if show asks for it.
func (c *call) appendCapacity(used *consumption, show *string) {
	if wanted(show) {
		c.out = appendName(c.out, "ConsumedCapacity")
		c.out = used.append(c.out, *show)
	}
}
