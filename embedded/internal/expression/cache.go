package expression

import "sync"

// Cache caches the results of parsing texts. It is safe for concurrent use.
type Cache[T any] struct {
	parse    func(text string) (T, error)
	capacity int
	lock     sync.RWMutex
	parsed   map[string]T
}

// NewCache returns a cache for up to capacity texts. Errors are not cached.
func NewCache[T any](capacity int, parse func(text string) (T, error)) *Cache[T] {
	return &Cache[T]{parse: parse, capacity: capacity, parsed: make(map[string]T)}
}

// Get returns the result of parsing the text.
func (c *Cache[T]) Get(text string) (T, error) {
	c.lock.RLock()
	parsed, found := c.parsed[text]
	c.lock.RUnlock()
	if found {
		return parsed, nil
	}
	parsed, err := c.parse(text)
	if err != nil {
		return parsed, err
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	if len(c.parsed) >= c.capacity {
		// Any text can be evicted. Programs use few different texts, so a full cache means that
		// texts contain values, and such texts are seldom repeated.
		for victim := range c.parsed {
			delete(c.parsed, victim)
			break
		}
	}
	c.parsed[text] = parsed
	return parsed, nil
}

// Parser parses expressions, and caches a limited number of parsed expressions of each kind. It is
// safe for concurrent use.
type Parser struct {
	conditions, filters, keys *Cache[*Condition]
	projections               *Cache[*Projection]
	updates                   *Cache[*Update]
}

// cacheCapacity limits a cache to a few megabytes, because MaxLength limits each text.
const cacheCapacity = 1000

// NewParser returns a parser with empty caches.
func NewParser() *Parser {
	conditions := func(kind Kind) *Cache[*Condition] {
		return NewCache(cacheCapacity, func(text string) (*Condition, error) { return ParseCondition(kind, text) })
	}
	return &Parser{
		conditions:  conditions(ConditionExpression),
		filters:     conditions(FilterExpression),
		keys:        conditions(KeyConditionExpression),
		projections: NewCache(cacheCapacity, ParseProjection),
		updates:     NewCache(cacheCapacity, ParseUpdate),
	}
}

// Condition parses a ConditionExpression.
func (p *Parser) Condition(text string) (*Condition, error) { return p.conditions.Get(text) }

// Filter parses a FilterExpression.
func (p *Parser) Filter(text string) (*Condition, error) { return p.filters.Get(text) }

// KeyCondition parses a KeyConditionExpression.
func (p *Parser) KeyCondition(text string) (*Condition, error) { return p.keys.Get(text) }

// Projection parses a ProjectionExpression.
func (p *Parser) Projection(text string) (*Projection, error) { return p.projections.Get(text) }

// Update parses an UpdateExpression.
func (p *Parser) Update(text string) (*Update, error) { return p.updates.Get(text) }
