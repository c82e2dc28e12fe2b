package embedded

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

// constraints collects the parameters that violate the service's model. They are reported together,
// before all other checks.
type constraints struct {
	failures []string
}

// maxFailures is the maximum number of violations that DynamoDB reports.
const maxFailures = 10

func (c *constraints) broken(value, member, rule string) {
	if len(c.failures) < maxFailures {
		c.failures = append(c.failures, "Value "+value+" at '"+member+"' failed to satisfy constraint: "+rule)
	}
}

// brokenMember adds a violation that is reported without the value.
func (c *constraints) brokenMember(member, rule string) {
	if len(c.failures) < maxFailures {
		c.failures = append(c.failures, "Value at '"+member+"' failed to satisfy constraint: "+rule)
	}
}

func (c *constraints) err() error {
	switch n := len(c.failures); n {
	case 0:
		return nil
	case 1:
		return invalid("%s", "1 validation error detected: "+c.failures[0])
	default:
		return invalid("%d validation errors detected: %s", n, strings.Join(c.failures, "; "))
	}
}

func quote(value string) string { return "'" + value + "'" }

// required checks that a parameter is given.
func (c *constraints) required(given bool, member string) {
	if !given {
		c.broken("null", member, "Member must not be null")
	}
}

// oneOf checks an enumeration. The allowed values are in the order of DynamoDB's messages.
func (c *constraints) oneOf(value *string, member string, allowed ...string) {
	if value != nil && !slices.Contains(allowed, *value) {
		c.broken(quote(*value), member, "Member must satisfy enum value set: ["+strings.Join(allowed, ", ")+"]")
	}
}

func (c *constraints) atLeast(value *int64, member string, least int64) {
	if value != nil && *value < least {
		c.broken(quote(strconv.FormatInt(*value, 10)), member,
			"Member must have value greater than or equal to "+strconv.FormatInt(least, 10))
	}
}

func (c *constraints) atMost(value *int64, member string, most int64) {
	if value != nil && *value > most {
		c.broken(quote(strconv.FormatInt(*value, 10)), member,
			"Member must have value less than or equal to "+strconv.FormatInt(most, 10))
	}
}

// length checks the number of characters or members of a parameter. value is its form in messages.
func (c *constraints) length(length int, value, member string, least, most int) {
	if length < least {
		c.broken(quote(value), member, "Member must have length greater than or equal to "+strconv.Itoa(least))
	}
	if length > most {
		c.broken(quote(value), member, "Member must have length less than or equal to "+strconv.Itoa(most))
	}
}

const (
	minNameLength = 3
	maxNameLength = 255
	maxARNLength  = 1024
	namePattern   = "[a-zA-Z0-9_.-]+"
)

// name checks the name of a table or an index, or a table's ARN.
func (c *constraints) name(value *string, member string) {
	if value == nil || strings.HasPrefix(*value, "arn:") && len(*value) <= maxARNLength {
		return
	}
	if *value == "" && member == "tableName" {
		c.length(0, "", member, 1, maxNameLength)
		return
	}
	if !isName(*value) {
		c.broken(quote(*value), member, "Member must satisfy regular expression pattern: "+namePattern)
	}
	c.length(len(*value), *value, member, minNameLength, maxNameLength)
}

// requiredName checks the name of a table, which must be given.
func (c *constraints) requiredName(value *string, member string) {
	c.required(value != nil, member)
	c.name(value, member)
}

func isName(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '.', c == '-':
		default:
			return false
		}
	}
	return name != ""
}

const (
	showTotal   = "TOTAL"
	showIndexes = "INDEXES"
	none        = "NONE"
)

func (c *constraints) consumedCapacity(value *string) {
	c.oneOf(value, "returnConsumedCapacity", showIndexes, showTotal, none)
}

func (c *constraints) collectionMetrics(value *string) {
	c.oneOf(value, "returnItemCollectionMetrics", "SIZE", none)
}

func (c *constraints) onConditionFailure(value *string, member string) {
	c.oneOf(value, member, "ALL_OLD", none)
}

// exclusive refuses requests that have both legacy parameters and expressions. Each list has the
// names of the given parameters.
func exclusive(legacy, expressions []string) error {
	if len(legacy) == 0 || len(expressions) == 0 {
		return nil
	}
	return invalid("Can not use both expression and non-expression parameters in the same request: "+
		"Non-expression parameters: {%s} Expression parameters: {%s}",
		strings.Join(legacy, ", "), strings.Join(expressions, ", "))
}

// parameter has the name of a parameter. given reports whether the request has it.
type parameter struct {
	name  string
	given bool
}

func givenNames(parameters ...parameter) []string {
	var names []string
	for _, p := range parameters {
		if p.given {
			names = append(names, p.name)
		}
	}
	return names
}

// uniqueNames refuses a list of attributes with duplicates.
func uniqueNames(names []string) error {
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			return invalid(invalidParameters+"Duplicate value in attribute name: %s", name)
		}
		seen[name] = true
		if err := attribute.CheckName(name); err != nil {
			return err
		}
	}
	return nil
}

func has[T any](value *T) bool { return value != nil }

func or[T any](value *T, otherwise T) T {
	if value == nil {
		return otherwise
	}
	return *value
}

// counted returns the short form of a long list in messages: the number of its members.
func counted(n int, members string) string {
	if n == 0 {
		return "[]"
	}
	return "[" + strconv.Itoa(n) + " " + members + "]"
}

// listed returns a list in the form of DynamoDB's messages.
func listed(values []string) string { return fmt.Sprintf("[%s]", strings.Join(values, ", ")) }

// memberLength checks the number of members of a list or map, which messages do not show.
func (c *constraints) memberLength(length int, member string, most int) {
	switch {
	case length < 1:
		c.brokenMember(member, "Member must have length greater than or equal to 1")
	case length > most:
		c.brokenMember(member, "Member must have length less than or equal to "+strconv.Itoa(most))
	}
}

// mapKey checks a key of a map that is the name of a table. shown returns the form of the map in
// messages.
func (c *constraints) mapKey(name, member string, shown func() string) {
	plain := tableName(name)
	if n := len(plain); n < minNameLength || n > maxNameLength || !isName(plain) {
		c.broken(quote(shown()), member, "Map keys must satisfy constraint: [Member must have length less than or equal "+
			"to 255, Member must have length greater than or equal to 3, Member must satisfy regular expression pattern: "+
			namePattern+"]")
	}
}
