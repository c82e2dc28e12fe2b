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
)

// parser reads one statement. Its first error sticks: from then on the parser stands at the end of the text, where no
// grammar finds anything more to read.
type parser struct {
	tokens    []token
	at        int
	err       error
	text      string
	statement *Statement
	// under is where in a value the parser stands, as messages about its numbers say.
	under string
}

// Parse reads a statement:
//
//	statement = select | insert | update | delete | "EXISTS" "(" select ")"
//	select    = "SELECT" ("*" | path {"," path}) "FROM" table ["WHERE" condition] ["ORDER" "BY" order {"," order}]
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
	tokens, ok := tokenize(text)
	if !ok {
		return nil, malformed("")
	}
	p := &parser{tokens: tokens, text: text, statement: &Statement{}, under: "root"}
	switch {
	case p.takeKeyword("SELECT"):
		p.selection(Select)
	case p.takeKeyword("INSERT"):
		p.insertion()
	case p.takeKeyword("UPDATE"):
		p.updating()
	case p.takeKeyword("DELETE"):
		p.deletion()
	case p.takeKeyword("FROM"):
		p.updatingFrom()
	case p.next().isKeyword("IS") && !isKeyword(p.peek()):
		operand := p.operand()
		p.take()
		p.is(operand)
		p.refuse(attribute.Invalid("Unsupported operation: IsType"))
	case p.takeKeyword("EXISTS"):
		p.expect("(")
		p.expectKeyword("SELECT")
		p.selection(Check)
		p.expect(")")
	default:
		p.refuse(malformed("Expected data manipulation"))
	}
	p.takeSymbol(";")
	if p.peek().kind != endToken {
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
		p.at = len(p.tokens) - 1
	}
}

// fail refuses the current token.
func (p *parser) fail() {
	switch t := p.peek(); {
	case t.kind == endToken:
		p.refuse(malformed("Unexpected end of statement"))
	case t.kind == wordToken && isKeyword(t):
		p.refuse(malformed("Unexpected keyword"))
	default:
		p.refuse(malformed("Unexpected token: %s", t.text))
	}
}

// noTerm refuses the current token, where a term should begin.
func (p *parser) noTerm() {
	switch t := p.peek(); {
	case slices.ContainsFunc([]string{"IS", "LIKE", "IN", "BETWEEN", "AND", "OR"}, t.isKeyword), comparator(t) != 0:
		p.refuse(malformed("Unexpected operator"))
	case isKeyword(t):
		p.refuse(malformed("Unexpected keyword"))
	default:
		p.refuse(malformed("Unexpected term"))
	}
}

// expectRight refuses the end of the statement behind an operator.
func (p *parser) expectRight() {
	if p.peek().kind == endToken || p.peek().is(";") {
		p.refuse(malformed("Missing right-hand side expression of infix operator"))
	}
}

// position is where the token stands, as messages have it: the line, the column and a length, in characters.
func (p *parser) position(t token) string {
	before := p.text[:t.at]
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("%d:%d:%d", strings.Count(before, "\n")+1, column, utf8.RuneCountInString(t.text))
}

// isKeyword tells whether a word is part of the grammar and so a name only in quotes.
func isKeyword(t token) bool {
	return slices.ContainsFunc([]string{
		"SELECT", "FROM", "WHERE", "ORDER", "BY", "INSERT", "INTO", "VALUE", "VALUES", "UPDATE", "SET", "REMOVE", "DELETE",
		"RETURNING", "AND", "OR", "NOT", "IN", "BETWEEN", "IS", "NULL", "MISSING", "TRUE", "FALSE", "EXISTS", "AS", "LIKE",
	}, t.isKeyword)
}

func (p *parser) peek() token { return p.tokens[p.at] }

// next is the token after the current one.
func (p *parser) next() token { return p.tokens[min(p.at+1, len(p.tokens)-1)] }

// take passes over the current token; the end of the text is never passed.
func (p *parser) take() token {
	t := p.tokens[p.at]
	p.at = min(p.at+1, len(p.tokens)-1)
	return t
}

func (p *parser) takeSymbol(symbol string) bool {
	if !p.peek().is(symbol) {
		return false
	}
	p.take()
	return true
}

func (p *parser) takeKeyword(keyword string) bool {
	if !p.peek().isKeyword(keyword) {
		return false
	}
	p.take()
	return true
}

func (p *parser) expect(symbol string) {
	if !p.takeSymbol(symbol) {
		p.fail()
	}
}

func (p *parser) expectKeyword(keyword string) {
	if !p.takeKeyword(keyword) {
		p.fail()
	}
}

func (p *parser) selection(verb Verb) {
	p.statement.Verb = verb
	if !p.takeSymbol("*") {
		p.columns()
	}
	p.expectKeyword("FROM")
	if t := p.peek(); t.kind != nameToken && t.kind != wordToken {
		p.noTerm()
	}
	p.table()
	p.noAlias()
	if p.takeKeyword("WHERE") {
		p.statement.where = p.condition()
	}
	if p.takeKeyword("ORDER") {
		p.expectKeyword("BY")
		p.order()
	}
}

func (p *parser) columns() {
	for {
		if p.isCall() {
			p.refuse(attribute.Invalid("Unexpected path component at %s", p.position(p.peek())))
		}
		path := p.path()
		name := "_" + strconv.Itoa(len(p.statement.columns)+1)
		if last, isMember := path.LastMember(); isMember {
			name = last
		}
		p.statement.columns = append(p.statement.columns, column{path: path, name: name})
		if !p.takeSymbol(",") {
			return
		}
	}
}

func (p *parser) order() {
	for {
		order := Order{Attribute: p.name()}
		if !p.takeKeyword("ASC") {
			order.Descending = p.takeKeyword("DESC")
		}
		p.statement.order = append(p.statement.order, order)
		if !p.takeSymbol(",") {
			return
		}
	}
}

func (p *parser) insertion() {
	p.statement.Verb = Insert
	p.expectKeyword("INTO")
	p.table()
	if !p.takeKeyword("VALUE") {
		p.refuse(malformed(leftOver))
	}
	if !p.peek().is("{") {
		p.fail()
	}
	p.take()
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
	if p.takeKeyword("WHERE") {
		p.statement.where = p.condition()
	}
	p.changes()
	p.returning()
}

func (p *parser) changes() {
	for p.err == nil && len(p.statement.actions) == 0 || p.peek().isKeyword("SET") || p.peek().isKeyword("REMOVE") {
		p.change()
	}
}

func (p *parser) change() {
	verb := expression.Set
	if p.takeKeyword("REMOVE") {
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
		if !p.takeSymbol(",") {
			return
		}
	}
}

// isSetFunction tells whether set_add or set_delete is called now.
func (p *parser) isSetFunction() bool {
	return p.isCall() && (strings.EqualFold(p.peek().text, "set_add") || strings.EqualFold(p.peek().text, "set_delete"))
}

// setFunction reads the call of set_add or set_delete that is assigned to the action's path, which it must name.
func (p *parser) setFunction(action *expression.Action) {
	at := p.peek()
	action.Verb = expression.Add
	name := strings.ToUpper(p.call())
	if name == "SET_DELETE" {
		action.Verb = expression.Delete
	}
	first := p.peek()
	var operands []expression.Operand
	for more := !p.takeSymbol(")"); more; {
		operands = append(operands, p.term())
		if more = p.takeSymbol(","); !more {
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
	if t := p.peek(); t.kind != nameToken && (t.kind != wordToken || isKeyword(t)) {
		p.refuse(malformed("Expected identifier for simple path"))
	}
	p.table()
	p.noAlias()
	if p.takeKeyword("WHERE") {
		p.statement.where = p.condition()
	}
	p.returning()
}

func (p *parser) returning() {
	if !p.takeKeyword("RETURNING") {
		return
	}
	all := p.takeKeyword("ALL")
	if !all {
		p.expectKeyword("MODIFIED")
	}
	old := p.takeKeyword("OLD")
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
	if p.takeSymbol(".") {
		p.statement.Index = p.tableName()
	}
	if p.peek().is(".") {
		p.refuse(attribute.Invalid("A path may contain at most 2 components in the FROM clause"))
	}
	if p.statement.Index != "" && p.statement.Verb != Select {
		p.refuse(malformed("An index can only be selected from"))
	}
}

func (p *parser) tableName() string {
	if t := p.peek(); t.kind == nameToken && t.text == "" {
		p.refuse(attribute.Invalid("Path component cannot be an empty string"))
	}
	return p.name()
}

// noAlias refuses another name for the table.
func (p *parser) noAlias() {
	if t := p.peek(); t.isKeyword("AS") || t.kind == nameToken || t.kind == wordToken && !isKeyword(t) {
		p.refuse(attribute.Invalid("Aliasing is not supported"))
	}
}

// name reads a name, with or without quotes.
func (p *parser) name() string {
	t := p.peek()
	if t.text == "" || t.kind != nameToken && (t.kind != wordToken || isKeyword(t)) {
		p.fail()
		return ""
	}
	p.take()
	return t.text
}

// joinWords are keywords of joins, which have no part in this grammar.
var joinWords = []string{"INNER", "OUTER", "LEFT", "RIGHT", "FULL", "CROSS", "JOIN", "ON"}

func (p *parser) path() expression.Path {
	path := expression.Path{expression.Member(p.name())}
	for {
		switch {
		case p.takeSymbol("."):
			if t := p.peek(); isKeyword(t) || slices.ContainsFunc(joinWords, t.isKeyword) {
				p.refuse(malformed("Invalid path dot component"))
			}
			path = append(path, expression.Member(p.name()))
		case p.takeSymbol("["):
			t := p.peek()
			index, err := strconv.Atoi(t.text)
			if t.kind != numberToken || err != nil || index > math.MaxInt32 {
				p.fail()
			}
			p.take()
			p.expect("]")
			path = append(path, expression.Element(index))
		default:
			return path
		}
	}
}

// value reads a value: a string, number, true, false, null, parameter, list, map or set.
func (p *parser) value() template {
	if t := p.peek(); p.isCall() {
		p.refuse(attribute.Invalid("Unsupported data type: %s under key %s at %s", t.text, p.under, p.position(t)))
	}
	start := p.at
	t := p.take()
	switch {
	case t.kind == stringToken:
		return constant(attribute.String(t.text))
	case t.kind == numberToken:
		return p.number(t.text)
	case t.is("-") && p.peek().kind == numberToken:
		return p.number("-" + p.take().text)
	case t.isKeyword("TRUE"), t.isKeyword("FALSE"):
		return constant(attribute.Boolean(t.isKeyword("TRUE")))
	case t.isKeyword("NULL"):
		return constant(attribute.Null())
	case t.is("?"):
		p.statement.Parameters++
		return parameter(p.statement.Parameters - 1)
	case t.is("["):
		members := p.members("]")
		return p.fold(listTemplate(members), members)
	case t.is("<<"):
		members := p.members(">>")
		return p.fold(setTemplate(members), members)
	case t.is("{"):
		under := p.under
		return p.mapping(func(name string) string { return under + "." + name })
	}
	p.at = start
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
	if p.takeSymbol(closing) {
		return nil
	}
	under := p.under
	defer func() { p.under = under }()
	for {
		p.under = under + "[" + strconv.Itoa(len(members)) + "]"
		members = append(members, p.value())
		if !p.takeSymbol(",") {
			p.expect(closing)
			return members
		}
	}
}

// mapping reads the rest of a map; under tells where the value of a name is.
func (p *parser) mapping(under func(name string) string) template {
	around := p.under
	defer func() { p.under = around }()
	var pairs mapTemplate
	var members []template
	for !p.takeSymbol("}") {
		if len(pairs) > 0 {
			p.expect(",")
		}
		key := p.peek()
		if key.kind != stringToken {
			p.fail()
			break
		}
		p.take()
		p.expect(":")
		p.under = under(key.text)
		member := p.value()
		pairs = append(pairs, memberTemplate{name: key.text, member: member})
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

// isCall tells whether a function's name and its parenthesis come now.
func (p *parser) isCall() bool {
	return p.peek().kind == wordToken && p.next().is("(") && !isKeyword(p.peek())
}

// call passes over a function's name, which is not case-sensitive, and its parenthesis.
func (p *parser) call() string {
	name := p.take().text
	p.take()
	return strings.ToLower(name)
}
