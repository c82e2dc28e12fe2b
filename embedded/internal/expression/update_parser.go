package expression

import "github.com/dynajournal/dynajournal/embedded/internal/tokens"

// ParseUpdate reads an update:
//
//	update  = section {section}
//	section = "SET" path "=" sum {"," path "=" sum} | "REMOVE" path {"," path}
//	        | "ADD" path value {"," path value} | "DELETE" path value {"," path value}
//	sum     = term [("+" | "-") term]
//	term    = path | value | function "(" term {"," term} ")" | "(" sum ")"
//
// Each section occurs at most once, in any order.
func ParseUpdate(text string) (*Update, error) {
	p, err := newParser(UpdateExpression, text)
	if err != nil {
		return nil, err
	}
	var actions []Action
	var seen [Delete + 1]bool
	for more := true; more; {
		verb := p.verb()
		if verb == 0 {
			p.fail()
			break
		}
		if seen[verb] {
			p.report(repeatedSection, "The \"%s\" section can only be used once in an update expression;", verb)
		}
		seen[verb] = true
		for {
			actions = append(actions, p.action(verb))
			if !p.TakeSymbol(",") {
				break
			}
		}
		more = p.Peek().Kind != tokens.End
	}
	if err := p.end(); err != nil {
		return nil, err
	}
	return &Update{actions: actions, placeholders: p.placeholders}, nil
}

// verb reads the keyword that begins a section.
func (p *parser) verb() Verb {
	for v := Set; v <= Delete; v++ {
		if p.TakeKeyword(v.String()) {
			return v
		}
	}
	return 0
}

func (p *parser) action(verb Verb) Action {
	action := Action{Verb: verb, Path: p.path()}
	switch verb {
	case Set:
		p.expect("=")
		action.Value, _ = p.sum()
	case Add, Delete:
		p.operators++
		action.Value = p.updateValue()
	case Remove:
		p.operators++
	}
	return action
}

// updateValue reads the placeholder of a value.
func (p *parser) updateValue() Operand {
	t := p.Peek()
	if t.Kind != tokens.Value {
		p.fail()
		return never
	}
	p.Take()
	return Parameter(p.slot(t.Text))
}

// sum reads a sum, and reports whether it is only a term in parentheses.
func (p *parser) sum() (Operand, bool) {
	x, parenthesized := p.term()
	minus := p.Peek().Is("-")
	if !minus && !p.Peek().Is("+") {
		return x, parenthesized
	}
	p.Take()
	p.operators++
	right, _ := p.term()
	return Sum{Left: x, Right: right, Minus: minus}, false
}

// term reads a term, and reports whether it is in parentheses.
func (p *parser) term() (Operand, bool) {
	switch t := p.Peek(); {
	case t.Kind == tokens.Value:
		return p.updateValue(), false
	case t.Is("("):
		p.Take()
		x, parenthesized := p.sum()
		p.expect(")")
		if parenthesized {
			p.redundant()
		}
		return x, true
	case t.Kind == tokens.Word && p.Next().Is("(") && !p.isGrammarWord(t):
		p.Take()
		p.Take()
		p.operators++
		return p.updateCall(t.Text, p.terms()), false
	}
	return p.path(), false
}

func (p *parser) terms() []Operand {
	var terms []Operand
	for {
		term, _ := p.term()
		terms = append(terms, term)
		if !p.TakeSymbol(",") {
			p.expect(")")
			return terms
		}
	}
}

// updateCall returns the tree of a function call.
func (p *parser) updateCall(name string, arguments []Operand) Operand {
	switch name {
	case "if_not_exists", "list_append":
	case "attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size":
		p.report(unknownFunction, "The function is not allowed in an update expression; function: %s", name)
		return never
	default:
		p.report(unknownFunction, "Invalid function name; function: %s", name)
		return never
	}
	if len(arguments) != 2 {
		return p.badCount(name, arguments)
	}
	if name == "if_not_exists" {
		return IfNotExists{Path: arguments[0], Default: arguments[1]}
	}
	return ListAppend{Left: arguments[0], Right: arguments[1]}
}
