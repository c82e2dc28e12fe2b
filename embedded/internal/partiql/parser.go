package partiql

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
	"github.com/dynajournal/dynajournal/embedded/internal/tokens"
)

// parser parses one statement. After its first error it is at the end of the text, where no grammar
// finds more to parse.
type parser struct {
	tokens.Cursor

	err       error
	text      string
	statement *Statement
	// under is the path within the value that is being read, for messages.
	under string
}

// Parse reads a statement:
//
//	statement = select | insert | update | delete | "EXISTS" "(" select ")"
//	select    = "SELECT" ("*" | path {"," path}) "FROM" table ["WHERE" condition]
//	            ["ORDER" "BY" order {"," order}]
//	insert    = "INSERT" "INTO" table "VALUE" map
//	update    = "UPDATE" table change {change} "WHERE" condition [returning]
//	          | "FROM" table ["WHERE" condition] change {change} [returning]
//	change    = "SET" assignment {"," assignment} | "REMOVE" path {"," path}
//	assignment = path "=" (sum | ("set_add" | "set_delete") "(" path "," value ")")
//	delete    = "DELETE" "FROM" table "WHERE" condition [returning]
//	table     = name ["." name]
//	order     = name ["ASC" | "DESC"]
//	returning = "RETURNING" ("ALL" | "MODIFIED") ("OLD" | "NEW") "*"
func Parse(text string) (*Statement, error) {
	if len(text) > MaxLength {
		return nil, malformed("The statement is longer than %d bytes", MaxLength)
	}
	list, ok := tokenize(text)
	if !ok {
		return nil, malformed("")
	}
	p := &parser{Cursor: tokens.NewCursor(list), text: text, statement: &Statement{}, under: "root"}
	switch {
	case p.TakeKeyword("SELECT"):
		p.selection(Select)
	case p.TakeKeyword("INSERT"):
		p.insertion()
	case p.TakeKeyword("UPDATE"):
		p.updating()
	case p.TakeKeyword("DELETE"):
		p.deletion()
	case p.TakeKeyword("FROM"):
		p.updatingFrom()
	case p.Next().IsKeyword("IS") && !isKeyword(p.Peek()):
		operand := p.operand()
		p.Take()
		p.is(operand)
		p.refuse(attribute.Invalid("Unsupported operation: IsType"))
	case p.TakeKeyword("EXISTS"):
		p.expect("(")
		p.expectKeyword("SELECT")
		p.selection(Check)
		p.expect(")")
	default:
		p.refuse(malformed("Expected data manipulation"))
	}
	p.TakeSymbol(";")
	if p.Peek().Kind != tokens.End {
		p.refuse(malformed(leftOver))
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.statement, nil
}

const leftOver = "Unexpected token after expression"

func malformed(format string, args ...any) error {
	return attribute.Invalid("Statement wasn't well formed, can't be processed: %s", fmt.Sprintf(format, args...))
}

func (p *parser) refuse(err error) {
	if p.err == nil && err != nil {
		p.err = err
		p.TakeAll()
	}
}

// fail refuses the current token.
func (p *parser) fail() {
	switch t := p.Peek(); {
	case t.Kind == tokens.End:
		p.refuse(malformed("Unexpected end of statement"))
	case t.Kind == tokens.Word && isKeyword(t):
		p.refuse(malformed("Unexpected keyword"))
	default:
		p.refuse(malformed("Unexpected token: %s", t.Text))
	}
}

// noTerm refuses the current token, because a term must begin there.
func (p *parser) noTerm() {
	switch t := p.Peek(); {
	case slices.ContainsFunc([]string{"IS", "LIKE", "IN", "BETWEEN", "AND", "OR"}, t.IsKeyword), comparator(t) != 0:
		p.refuse(malformed("Unexpected operator"))
	case isKeyword(t):
		p.refuse(malformed("Unexpected keyword"))
	default:
		p.refuse(malformed("Unexpected term"))
	}
}

// expectRight refuses the end of the statement after an operator.
func (p *parser) expectRight() {
	if p.Peek().Kind == tokens.End || p.Peek().Is(";") {
		p.refuse(malformed("Missing right-hand side expression of infix operator"))
	}
}

// position returns the position of the token as in messages: line, column and length, in
// characters.
func (p *parser) position(t tokens.Token) string {
	before := p.text[:t.Start]
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("%d:%d:%d", strings.Count(before, "\n")+1, column, utf8.RuneCountInString(t.Text))
}

// isKeyword reports whether a word is a keyword. A keyword can be a name only in quotes.
func isKeyword(t tokens.Token) bool {
	return slices.ContainsFunc([]string{
		"SELECT", "FROM", "WHERE", "ORDER", "BY", "INSERT", "INTO", "VALUE", "VALUES", "UPDATE", "SET", "REMOVE", "DELETE",
		"RETURNING", "AND", "OR", "NOT", "IN", "BETWEEN", "IS", "NULL", "MISSING", "TRUE", "FALSE", "EXISTS", "AS", "LIKE",
	}, t.IsKeyword)
}

func (p *parser) expect(symbol string) {
	if !p.TakeSymbol(symbol) {
		p.fail()
	}
}

func (p *parser) expectKeyword(keyword string) {
	if !p.TakeKeyword(keyword) {
		p.fail()
	}
}

func (p *parser) selection(verb Verb) {
	p.statement.Verb = verb
	if !p.TakeSymbol("*") {
		p.columns()
	}
	p.expectKeyword("FROM")
	if t := p.Peek(); t.Kind != tokens.Name && t.Kind != tokens.Word {
		p.noTerm()
	}
	p.table()
	p.noAlias()
	if p.TakeKeyword("WHERE") {
		p.statement.where = p.condition()
	}
	if p.TakeKeyword("ORDER") {
		p.expectKeyword("BY")
		p.order()
	}
}

func (p *parser) columns() {
	for {
		if p.isCall() {
			p.refuse(attribute.Invalid("Unexpected path component at %s", p.position(p.Peek())))
		}
		path := p.path()
		name := "_" + strconv.Itoa(len(p.statement.columns)+1)
		if last, isMember := path.LastMember(); isMember {
			name = last
		}
		p.statement.columns = append(p.statement.columns, column{path: path, name: name})
		if !p.TakeSymbol(",") {
			return
		}
	}
}

func (p *parser) order() {
	for {
		order := Order{Attribute: p.name()}
		if !p.TakeKeyword("ASC") {
			order.Descending = p.TakeKeyword("DESC")
		}
		p.statement.order = append(p.statement.order, order)
		if !p.TakeSymbol(",") {
			return
		}
	}
}

func (p *parser) insertion() {
	p.statement.Verb = Insert
	p.expectKeyword("INTO")
	p.table()
	if !p.TakeKeyword("VALUE") {
		p.refuse(malformed(leftOver))
	}
	if !p.Peek().Is("{") {
		p.fail()
	}
	p.Take()
	p.statement.item = p.mapping(func(string) string { return "root" })
}

func (p *parser) updating() {
	p.statement.Verb = Update
	p.table()
	p.noAlias()
	p.changes()
	p.expectKeyword("WHERE")
	p.statement.where = p.condition()
	p.returning()
}

// updatingFrom reads the form of UPDATE that begins with FROM.
func (p *parser) updatingFrom() {
	p.statement.Verb = Update
	p.table()
	p.noAlias()
	if p.TakeKeyword("WHERE") {
		p.statement.where = p.condition()
	}
	p.changes()
	p.returning()
}

func (p *parser) changes() {
	for p.err == nil && len(p.statement.actions) == 0 || p.Peek().IsKeyword("SET") || p.Peek().IsKeyword("REMOVE") {
		p.change()
	}
}

func (p *parser) change() {
	verb := expression.Set
	if p.TakeKeyword("REMOVE") {
		verb = expression.Remove
	} else {
		p.expectKeyword("SET")
	}
	for {
		action := expression.Action{Verb: verb, Path: p.path()}
		if verb == expression.Set {
			p.expect("=")
			if p.isSetFunction() {
				p.setFunction(&action)
			} else {
				action.Value = p.sum()
			}
		}
		p.statement.actions = append(p.statement.actions, action)
		if !p.TakeSymbol(",") {
			return
		}
	}
}

// isSetFunction reports whether a call of set_add or set_delete follows.
func (p *parser) isSetFunction() bool {
	return p.isCall() && (strings.EqualFold(p.Peek().Text, "set_add") || strings.EqualFold(p.Peek().Text, "set_delete"))
}

// setFunction reads a call of set_add or set_delete that is assigned to the action's path, which
// must be its first argument.
func (p *parser) setFunction(action *expression.Action) {
	at := p.Peek()
	action.Verb = expression.Add
	name := strings.ToUpper(p.call())
	if name == "SET_DELETE" {
		action.Verb = expression.Delete
	}
	first := p.Peek()
	var operands []expression.Operand
	for more := !p.TakeSymbol(")"); more; {
		operands = append(operands, p.term())
		if more = p.TakeSymbol(","); !more {
			p.expect(")")
		}
	}
	if len(operands) != 2 {
		p.refuse(attribute.Invalid("%s must have exactly two arguments at %s", name, p.position(at)))
		return
	}
	if path, is := operands[0].(expression.Path); !is || !slices.Equal(path, action.Path) {
		p.refuse(attribute.Invalid("The first argument to %s must equal the assignment value at %s", name, p.position(at)))
	}
	if literal, is := operands[1].(expression.Literal); is && literal.Value.Set == nil {
		p.refuse(attribute.Invalid("The second argument to %s must be a value with type SET at %s", name, p.position(first)))
	}
	action.Value = operands[1]
}

func (p *parser) deletion() {
	p.statement.Verb = Delete
	p.expectKeyword("FROM")
	if t := p.Peek(); t.Kind != tokens.Name && (t.Kind != tokens.Word || isKeyword(t)) {
		p.refuse(malformed("Expected identifier for simple path"))
	}
	p.table()
	p.noAlias()
	if p.TakeKeyword("WHERE") {
		p.statement.where = p.condition()
	}
	p.returning()
}

func (p *parser) returning() {
	if !p.TakeKeyword("RETURNING") {
		return
	}
	all := p.TakeKeyword("ALL")
	if !all {
		p.expectKeyword("MODIFIED")
	}
	old := p.TakeKeyword("OLD")
	if !old {
		p.expectKeyword("NEW")
	}
	p.expect("*")
	switch {
	case all && old:
		p.statement.Returning = ReturnAllOld
	case old:
		p.statement.Returning = ReturnModifiedOld
	case all:
		p.statement.Returning = ReturnAllNew
	default:
		p.statement.Returning = ReturnModifiedNew
	}
	if p.statement.Verb == Delete && (!all || !old) {
		which, state := "MODIFIED", "NEW"
		if all {
			which = "ALL"
		}
		if old {
			state = "OLD"
		}
		p.refuse(attribute.Invalid("Invalid returning clause: RETURNING %s %s *. Only RETURNING ALL OLD * is allowed in DELETE statements.", which, state))
	}
}

func (p *parser) table() {
	p.statement.Table = p.tableName()
	if p.TakeSymbol(".") {
		p.statement.Index = p.tableName()
	}
	if p.Peek().Is(".") {
		p.refuse(attribute.Invalid("A path may contain at most 2 components in the FROM clause"))
	}
	if p.statement.Index != "" && p.statement.Verb != Select {
		p.refuse(malformed("An index can only be selected from"))
	}
}

func (p *parser) tableName() string {
	if t := p.Peek(); t.Kind == tokens.Name && t.Text == "" {
		p.refuse(attribute.Invalid("Path component cannot be an empty string"))
	}
	return p.name()
}

// noAlias refuses an alias of the table.
func (p *parser) noAlias() {
	if t := p.Peek(); t.IsKeyword("AS") || t.Kind == tokens.Name || t.Kind == tokens.Word && !isKeyword(t) {
		p.refuse(attribute.Invalid("Aliasing is not supported"))
	}
}

// name reads a name, with or without quotes.
func (p *parser) name() string {
	t := p.Peek()
	if t.Text == "" || t.Kind != tokens.Name && (t.Kind != tokens.Word || isKeyword(t)) {
		p.fail()
		return ""
	}
	p.Take()
	return t.Text
}

// joinWords are the keywords of joins, which are not supported.
var joinWords = []string{"INNER", "OUTER", "LEFT", "RIGHT", "FULL", "CROSS", "JOIN", "ON"}

func (p *parser) path() expression.Path {
	path := expression.Path{expression.Member(p.name())}
	for {
		switch {
		case p.TakeSymbol("."):
			if t := p.Peek(); isKeyword(t) || slices.ContainsFunc(joinWords, t.IsKeyword) {
				p.refuse(malformed("Invalid path dot component"))
			}
			path = append(path, expression.Member(p.name()))
		case p.TakeSymbol("["):
			t := p.Peek()
			index, err := strconv.Atoi(t.Text)
			if t.Kind != tokens.Number || err != nil || index > math.MaxInt32 {
				p.fail()
			}
			p.Take()
			p.expect("]")
			path = append(path, expression.Element(index))
		default:
			return path
		}
	}
}

// value reads a value: a string, number, true, false, null, parameter, list, map or set.
func (p *parser) value() template {
	if t := p.Peek(); p.isCall() {
		p.refuse(attribute.Invalid("Unsupported data type: %s under key %s at %s", t.Text, p.under, p.position(t)))
	}
	start := p.Position()
	t := p.Take()
	switch {
	case t.Kind == tokens.String:
		return constant(attribute.String(t.Text))
	case t.Kind == tokens.Number:
		return p.number(t.Text)
	case t.Is("-") && p.Peek().Kind == tokens.Number:
		return p.number("-" + p.Take().Text)
	case t.IsKeyword("TRUE"), t.IsKeyword("FALSE"):
		return constant(attribute.Boolean(t.IsKeyword("TRUE")))
	case t.IsKeyword("NULL"):
		return constant(attribute.Null())
	case t.Is("?"):
		p.statement.Parameters++
		return parameter(p.statement.Parameters - 1)
	case t.Is("["):
		members := p.members("]")
		return p.fold(listTemplate(members), members)
	case t.Is("<<"):
		members := p.members(">>")
		return p.fold(setTemplate(members), members)
	case t.Is("{"):
		under := p.under
		return p.mapping(func(name string) string { return under + "." + name })
	}
	p.Reset(start)
	p.noTerm()
	return constant{}
}

func (p *parser) number(text string) template {
	v, err := attribute.Number(text)
	if err != nil {
		p.refuse(attribute.Invalid("%s under %s", err, p.under))
	}
	return constant(v)
}

func (p *parser) fold(t template, members []template) template {
	folded, err := fold(t, members)
	p.refuse(err)
	return folded
}

// members reads values up to the closing bracket.
func (p *parser) members(closing string) []template {
	var members []template
	if p.TakeSymbol(closing) {
		return nil
	}
	under := p.under
	defer func() { p.under = under }()
	for {
		p.under = under + "[" + strconv.Itoa(len(members)) + "]"
		members = append(members, p.value())
		if !p.TakeSymbol(",") {
			p.expect(closing)
			return members
		}
	}
}

// mapping reads the rest of a map. under returns the path of the value of a name, for messages.
func (p *parser) mapping(under func(name string) string) template {
	around := p.under
	defer func() { p.under = around }()
	var pairs mapTemplate
	var members []template
	for !p.TakeSymbol("}") {
		if len(pairs) > 0 {
			p.expect(",")
		}
		key := p.Peek()
		if key.Kind != tokens.String {
			p.fail()
			break
		}
		p.Take()
		p.expect(":")
		p.under = under(key.Text)
		member := p.value()
		pairs = append(pairs, memberTemplate{name: key.Text, member: member})
		members = append(members, member)
	}
	return p.fold(pairs, members)
}

// valueOperand reads a value as an operand.
func (p *parser) valueOperand() expression.Operand {
	t := p.value()
	if c, is := t.(constant); is {
		v := attribute.Value(c)
		p.refuse(v.CheckDepth(0))
		return expression.Literal{Value: v}
	}
	p.statement.slots = append(p.statement.slots, t)
	return expression.Parameter(len(p.statement.slots) - 1)
}

// isCall reports whether the name of a function and a parenthesis follow.
func (p *parser) isCall() bool {
	return p.Peek().Kind == tokens.Word && p.Next().Is("(") && !isKeyword(p.Peek())
}

// call reads the name of a function, which is not case-sensitive, and its parenthesis.
func (p *parser) call() string {
	name := p.Take().Text
	p.Take()
	return strings.ToLower(name)
}
