package embedded

import (
	"slices"
	"strconv"
	"strings"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

// The parameters that describe a table in CreateTable and UpdateTable.

type attributeParameter struct{ name, kind *string }

type keyParameter struct{ name, role *string }

type throughputParameter struct{ read, write *int64 }

type projectionParameter struct {
	kind    *string
	include []string
}

type indexParameter struct {
	name       *string
	key        []keyParameter
	projection *projectionParameter
	throughput *throughputParameter
}

func (r *decoder) attributeDefinitions() []attributeParameter {
	definitions := []attributeParameter{}
	given := r.list(func() {
		var d attributeParameter
		r.structure("AttributeDefinition", func(name string) {
			switch name {
			case "AttributeName":
				d.name = r.text()
			case "AttributeType":
				d.kind = r.text()
			default:
				r.skip()
			}
		})
		definitions = append(definitions, d)
	})
	if !given {
		return nil
	}
	return definitions
}

func (r *decoder) keySchema() []keyParameter {
	key := []keyParameter{}
	given := r.list(func() {
		var k keyParameter
		r.structure("KeySchemaElement", func(name string) {
			switch name {
			case "AttributeName":
				k.name = r.text()
			case "KeyType":
				k.role = r.text()
			default:
				r.skip()
			}
		})
		key = append(key, k)
	})
	if !given {
		return nil
	}
	return key
}

func (r *decoder) throughput() *throughputParameter {
	var t throughputParameter
	given := r.structure("ProvisionedThroughput", func(name string) {
		switch name {
		case "ReadCapacityUnits":
			t.read = r.integer("Long")
		case "WriteCapacityUnits":
			t.write = r.integer("Long")
		default:
			r.skip()
		}
	})
	if !given {
		return nil
	}
	return &t
}

func (r *decoder) projection() *projectionParameter {
	var p projectionParameter
	given := r.structure("Projection", func(name string) {
		switch name {
		case "ProjectionType":
			p.kind = r.text()
		case "NonKeyAttributes":
			p.include = r.texts()
		default:
			r.skip()
		}
	})
	if !given {
		return nil
	}
	return &p
}

func (r *decoder) indexes(structType string) []indexParameter {
	indexes := []indexParameter{}
	if !r.list(func() { indexes = append(indexes, r.index(structType)) }) {
		return nil
	}
	return indexes
}

func (r *decoder) index(structType string) indexParameter {
	var i indexParameter
	r.structure(structType, func(name string) {
		switch name {
		case "IndexName":
			i.name = r.text()
		case "KeySchema":
			i.key = r.keySchema()
		case "Projection":
			i.projection = r.projection()
		case "ProvisionedThroughput":
			i.throughput = r.throughput()
		default:
			r.skip()
		}
	})
	return i
}

func (c *constraints) attributeDefinitions(definitions []attributeParameter) {
	for i, d := range definitions {
		member := "attributeDefinitions." + strconv.Itoa(i+1) + ".member."
		c.required(has(d.name), member+"attributeName")
		if d.name != nil {
			c.length(len(*d.name), *d.name, member+"attributeName", 1, maxNameLength)
		}
		c.required(has(d.kind), member+"attributeType")
		c.oneOf(d.kind, member+"attributeType", "B", "N", "S")
	}
}

// keySchema checks a key schema. most limits the number of its attributes.
func (c *constraints) keySchema(key []keyParameter, member string, most int) {
	c.required(key != nil, member)
	if key == nil {
		return
	}
	names := make([]string, len(key))
	for i, k := range key {
		names[i] = "KeySchemaElement(attributeName=" + or(k.name, "null") + ", keyType=" + or(k.role, "null") + ")"
	}
	c.length(len(key), listed(names), member, 1, most)
	for i, k := range key {
		element := member + "." + strconv.Itoa(i+1) + ".member."
		c.required(has(k.name), element+"attributeName")
		c.required(has(k.role), element+"keyType")
		c.oneOf(k.role, element+"keyType", roleHash, roleRange)
	}
}

func (c *constraints) throughput(t *throughputParameter, member string) {
	if t == nil {
		return
	}
	c.required(has(t.write), member+".writeCapacityUnits")
	c.atLeast(t.write, member+".writeCapacityUnits", 1)
	c.required(has(t.read), member+".readCapacityUnits")
	c.atLeast(t.read, member+".readCapacityUnits", 1)
}

// index checks an index. mostKeys limits the number of its key attributes.
func (c *constraints) index(i indexParameter, member string, mostKeys int) {
	c.required(has(i.name), member+".indexName")
	c.name(i.name, member+".indexName")
	c.keySchema(i.key, member+".keySchema", mostKeys)
	c.required(has(i.projection), member+".projection")
	if i.projection != nil {
		c.oneOf(i.projection.kind, member+".projection.projectionType", projectAll, projectInclude, projectKeys)
		if i.projection.include != nil {
			c.length(len(i.projection.include), listed(i.projection.include), member+".projection.nonKeyAttributes", 1, 20)
			for n, name := range i.projection.include {
				c.length(len(name), name, member+".projection.nonKeyAttributes."+strconv.Itoa(n+1)+".member", 1, maxNameLength)
			}
		}
	}
	c.throughput(i.throughput, member+".provisionedThroughput")
}

func (c *constraints) indexes(indexes []indexParameter, member string, mostKeys int) {
	for i, parameter := range indexes {
		c.index(parameter, member+"."+strconv.Itoa(i+1)+".member", mostKeys)
	}
}

// definitions are the attribute definitions of a request, in its order.
type definitions struct {
	names []string
	kinds map[string]attribute.Kind
}

func makeDefinitions(parameters []attributeParameter) (definitions, error) {
	d := definitions{kinds: map[string]attribute.Kind{}}
	for _, p := range parameters {
		if _, duplicate := d.kinds[*p.name]; duplicate {
			return d, invalid(invalidParameters+"Duplicate AttributeName in AttributeDefinitions: %s", *p.name)
		}
		d.names = append(d.names, *p.name)
		switch *p.kind {
		case "S":
			d.kinds[*p.name] = attribute.S
		case "N":
			d.kinds[*p.name] = attribute.N
		default:
			d.kinds[*p.name] = attribute.B
		}
	}
	return d, nil
}

// tableKey checks the key schema of a table against the definitions.
func (d definitions) tableKey(parameters []keyParameter, indexed bool) (keySchema, error) {
	if !indexed && len(parameters) > len(d.names) {
		return keySchema{}, invalid("Invalid KeySchema: Some index key attribute have no definition")
	}
	key, err := d.simpleKey(parameters)
	if err != nil {
		return keySchema{}, err
	}
	table := keySchema{Hash: key.Hash[0]}
	if len(key.Range) > 0 {
		table.Range = key.Range[0]
	}
	return table, nil
}

// simpleKey checks the key schema of a table or a local index against the definitions.
func (d definitions) simpleKey(parameters []keyParameter) (indexKey, error) {
	if err := d.defined(parameters); err != nil {
		return indexKey{}, err
	}
	two := len(parameters) == 2
	switch {
	case two && *parameters[0].name == *parameters[1].name:
		return indexKey{}, invalid("Both the Hash Key and the Range Key element in the KeySchema have the same name")
	case *parameters[0].role != roleHash:
		return indexKey{}, invalid(firstKeyNotHash)
	case two && *parameters[1].role != roleRange:
		return indexKey{}, invalid("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
	}
	return makeIndexKey(parameters), nil
}

const firstKeyNotHash = "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"

// globalKey checks the key schema of a global index against the definitions.
func (d definitions) globalKey(parameters []keyParameter) (indexKey, error) {
	if err := d.defined(parameters); err != nil {
		return indexKey{}, err
	}
	key := makeIndexKey(parameters)
	byRole := func(x, y keyParameter) int { return strings.Compare(*x.role, *y.role) }
	switch {
	case len(slices.Compact(slices.Sorted(slices.Values(key.names())))) < len(parameters):
		return indexKey{}, invalid("The KeySchema contains multiple key attributes with the same name")
	case *parameters[0].role != roleHash:
		return indexKey{}, invalid(firstKeyNotHash)
	case !slices.IsSortedFunc(parameters, byRole):
		return indexKey{}, invalid(invalidParameters +
			"All HASH key attributes must precede RANGE key attributes in the KeySchema")
	case len(key.Hash) > maxKeyAttributes:
		return indexKey{}, tooManyKeys(roleHash)
	case len(key.Range) > maxKeyAttributes:
		return indexKey{}, tooManyKeys(roleRange)
	}
	return key, nil
}

func tooManyKeys(role string) error {
	return invalid(invalidParameters+"The KeySchema exceeds the maximum allowed number of %s key attributes", role)
}

// defined checks that the attributes of a key schema are defined.
func (d definitions) defined(parameters []keyParameter) error {
	names := make([]string, len(parameters))
	undefined := false
	for i, p := range parameters {
		names[i] = *p.name
		undefined = undefined || d.kinds[*p.name] == 0
	}
	if undefined {
		return invalid(invalidParameters+"Some index key attributes are not defined in AttributeDefinitions. "+
			"Keys: %s, AttributeDefinitions: %s", listed(names), listed(d.names))
	}
	return nil
}

func makeIndexKey(parameters []keyParameter) indexKey {
	var key indexKey
	for _, p := range parameters {
		if *p.role == roleHash {
			key.Hash = append(key.Hash, *p.name)
		} else {
			key.Range = append(key.Range, *p.name)
		}
	}
	return key
}

// index checks the parameters of an index against the definitions, and returns it. checkKey checks
// its key schema.
func (d definitions) index(p indexParameter, checkKey func([]keyParameter) (indexKey, error)) (*index, error) {
	key, err := checkKey(p.key)
	if err != nil {
		return nil, err
	}
	kind := or(p.projection.kind, "")
	switch {
	case kind == "":
		return nil, invalid(invalidParameters + "Unknown ProjectionType: null")
	case p.projection.include != nil && kind != projectInclude:
		return nil, invalid(invalidParameters+"ProjectionType is %s, but NonKeyAttributes is specified", kind)
	case kind == projectInclude && len(p.projection.include) == 0:
		return nil, invalid(invalidParameters + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
	}
	for n, name := range p.projection.include {
		if slices.Contains(p.projection.include[:n], name) {
			return nil, invalid(invalidParameters+"Duplicate attribute name in NonKeyAttributes: %s", name)
		}
	}
	return &index{
		Name: *p.name, Key: key, Projection: kind, Include: p.projection.include, Status: statusActive,
	}, nil
}

// used checks that every attribute definition is used by a key.
func (d definitions) used(s *schema) error {
	names := s.Key.names()
	for _, i := range s.Indexes {
		names = append(names, i.Key.names()...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == len(d.names) {
		return nil
	}
	if len(s.Indexes) == 0 {
		return invalid(invalidParameters + "Number of attributes in KeySchema does not exactly match number of attributes " +
			"defined in AttributeDefinitions")
	}
	return invalid(invalidParameters+"Some AttributeDefinitions are not used. AttributeDefinitions: %s, keys used: %s",
		listed(d.names), listed(names))
}
