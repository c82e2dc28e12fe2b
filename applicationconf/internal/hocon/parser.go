package hocon

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// notUnquoted contains the characters that are not allowed in a string without quotes.
const notUnquoted = "$\"{}[]:=,+#`^?!@*&\\"

// parser parses one source.
type parser struct {
	*loader
	source
	pos, line, nesting int
	// path is the path of the object being read.
	path []string
}

// position returns the position of the parser. It is zero in the defaults.
func (p *parser) position() Position {
	if p.name == "" {
		return Position{}
	}
	return Position{p.name, p.line}
}

func (p *parser) rest() string { return p.text[p.pos:] }

func (p *parser) at(prefix string) bool { return strings.HasPrefix(p.rest(), prefix) }

// take consumes a prefix and reports whether it was there.
func (p *parser) take(prefix string) bool {
	if !p.at(prefix) {
		return false
	}
	p.pos += len(prefix)
	return true
}

// run consumes the characters before the first one for which belongs is false.
func (p *parser) run(belongs func(rune) bool) string {
	end := strings.IndexFunc(p.rest(), func(r rune) bool { return !belongs(r) })
	if end < 0 {
		end = len(p.rest())
	}
	taken := p.rest()[:end]
	p.pos += end
	p.line += strings.Count(taken, "\n")
	return taken
}

const byteOrderMark = '\uFEFF'

func isSpace(r rune) bool { return unicode.IsSpace(r) || r == byteOrderMark }

// isUnquoted reports whether a string without quotes can contain the character.
func isUnquoted(r rune) bool {
	return !isSpace(r) && !unicode.IsControl(r) && !strings.ContainsRune(notUnquoted, r)
}

func isBlank(r rune) bool { return r != '\n' && isSpace(r) }

func (p *parser) atComment() bool { return p.at("#") || p.at("//") }

// skip consumes white space, newlines, comments and the given separators.
func (p *parser) skip(separators string) {
	for {
		p.run(func(r rune) bool { return isSpace(r) || strings.ContainsRune(separators, r) })
		if !p.atComment() {
			return
		}
		p.run(func(r rune) bool { return r != '\n' })
	}
}

// document reads the whole text, with or without braces around it.
func (p *parser) document(into *object) error {
	for i, r := range p.text {
		if _, size := utf8.DecodeRuneInString(p.text[i:]); r == utf8.RuneError && size == 1 {
			p.line += strings.Count(p.text[:i], "\n")
			return errors.New("the text is not UTF-8")
		}
	}
	p.skip("")
	opened := p.line
	braced := p.take("{")
	if err := p.members(into); err != nil {
		return err
	}
	if braced && !p.take("}") {
		return notClosed("{", opened)
	}
	if p.skip(""); p.rest() != "" {
		return p.unexpected()
	}
	return nil
}

// notClosed returns the error for a bracket that is not closed.
func notClosed(bracket string, line int) error {
	return fmt.Errorf("a %s is missing for the %s of line %d", map[string]string{"{": "}", "[": "]"}[bracket], bracket,
		line)
}

func (p *parser) unexpected() error {
	r, _ := utf8.DecodeRuneInString(p.rest())
	if p.rest() == "" {
		return errors.New("unexpected end of the text")
	}
	return fmt.Errorf("unexpected %q", r)
}

// members reads the content of an object up to its closing brace or the end of the text.
func (p *parser) members(into *object) error {
	for {
		p.skip(",")
		if p.rest() == "" || p.at("}") {
			return nil
		}
		included, err := p.include(into)
		if err == nil && !included {
			err = p.member(into)
		}
		if err != nil {
			return err
		}
		if p.run(isBlank); p.rest() != "" && !p.atComment() && !p.at("\n") && !p.at(",") && !p.at("}") {
			return p.unexpected()
		}
	}
}

// include reads an include directive, if there is one.
func (p *parser) include(into *object) (bool, error) {
	after, found := strings.CutPrefix(p.rest(), "include")
	directive := strings.TrimLeftFunc(after, isBlank)
	if !found ||
		!slices.ContainsFunc([]string{`"`, "file(", "url(", "classpath(", "required("}, func(form string) bool {
			return strings.HasPrefix(directive, form)
		}) {
		return false, nil
	}
	p.pos = len(p.text) - len(directive)
	required := p.take("required(")
	p.run(isSpace)
	elsewhere := p.take("url(") || p.take("classpath(")
	closing := elsewhere || p.take("file(")
	p.run(isSpace)
	if !p.at(`"`) {
		return true, p.unexpected()
	}
	name, err := p.quoted()
	if err != nil {
		return true, err
	}
	for _, open := range []bool{closing, required} {
		if !open {
			continue
		}
		if p.run(isSpace); !p.take(")") {
			return true, p.unexpected()
		}
	}
	if elsewhere && required {
		return true, fmt.Errorf("%q can't be included: only files can", name)
	}
	read := false
	if !elsewhere {
		read, err = p.loader.include(p.source, name, required, into, p.path)
	}
	if err == nil && !read {
		p.skipped = append(p.skipped, Include{Name: name, Within: slices.Clone(p.path), At: p.position()})
	}
	return true, err
}

// member reads a key with its value.
func (p *parser) member(into *object) error {
	at := p.position()
	key, err := p.key(":=+{")
	if err != nil {
		return err
	}
	outer := p.path
	p.path = append(slices.Clip(outer), key...)
	defer func() { p.path = outer }()
	appending := p.take("+=")
	if !appending && !p.take("=") && !p.take(":") && !p.at("{") {
		return p.unexpected()
	}
	p.skip("")
	v, err := p.value()
	if err != nil {
		return err
	}
	if appending {
		v = &concat{parts: []value{&reference{path: p.path, optional: true}, &array{items: []value{v}}}}
	}
	into.define(key, v, at)
	return nil
}

// key reads a path up to one of the characters in enders.
func (p *parser) key(enders string) ([]string, error) {
	var path []string
	element, some := "", false
	for {
		blanks := p.run(isBlank)
		if !some {
			blanks = "" // blanks before a key are not a part of it
		}
		switch {
		case p.rest() == "":
			return nil, errors.New("unexpected end of the text in a key")
		case strings.Contains(enders, p.rest()[:1]), p.at(".") && some:
			if !some {
				return nil, errors.New("a key is missing")
			}
			path = append(path, element)
			if element, some = "", false; !p.take(".") {
				return path, nil
			}
			continue
		case p.at(`"`):
			text, err := p.quoted()
			if err != nil {
				return nil, err
			}
			blanks += text
		default:
			text := p.run(func(r rune) bool { return isUnquoted(r) && r != '.' })
			if text == "" {
				return nil, p.unexpected()
			}
			blanks += text
		}
		element += blanks
		some = true
	}
}

// value reads a value: everything up to the end of the line, a comma, or the end of its object or
// array.
func (p *parser) value() (value, error) {
	if p.nesting++; p.nesting > maxNesting {
		return nil, fmt.Errorf("values are nested deeper than %d", maxNesting)
	}
	defer func() { p.nesting-- }()
	var parts []value
	for {
		between := p.run(isBlank)
		if p.rest() == "" || p.atComment() || strings.Contains("\n,}]", p.rest()[:1]) {
			break
		}
		if len(parts) > 0 && between != "" {
			parts = append(parts, blank(between))
		}
		part, err := p.part()
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	switch len(parts) {
	case 0:
		return nil, errors.New("a value is missing")
	case 1:
		return parts[0], nil
	default:
		return &concat{parts: parts}, nil
	}
}

func (p *parser) part() (value, error) {
	opened := p.line
	switch {
	case p.take("{"):
		o := newObject()
		if err := p.members(o); err != nil {
			return nil, err
		}
		if !p.take("}") {
			return nil, notClosed("{", opened)
		}
		return o, nil
	case p.take("["):
		return p.array()
	case p.take("${"):
		return p.reference()
	case p.take(`"""`):
		return p.tripleQuoted()
	case p.at(`"`):
		text, err := p.quoted()
		return scalar{text: text}, err
	}
	start := p.pos
	for p.pos < len(p.text) && !p.at("//") {
		r, size := utf8.DecodeRuneInString(p.rest())
		if !isUnquoted(r) {
			break
		}
		p.pos += size
	}
	text := p.text[start:p.pos]
	if text == "" {
		return nil, p.unexpected()
	}
	return scalar{text: text, null: text == "null"}, nil
}

func (p *parser) array() (value, error) {
	a, opened := &array{}, p.line
	for {
		p.skip(",")
		if p.take("]") {
			return a, nil
		}
		if p.rest() == "" {
			return nil, notClosed("[", opened)
		}
		item, err := p.value()
		if err != nil {
			return nil, err
		}
		a.items = append(a.items, item)
	}
}

func (p *parser) reference() (value, error) {
	r := &reference{within: p.within, optional: p.take("?")}
	var err error
	if r.path, err = p.key("}"); err != nil {
		return nil, err
	}
	p.pos++ // the brace that ended the key
	return r, nil
}

func (p *parser) tripleQuoted() (value, error) {
	end := strings.Index(p.rest(), `"""`)
	if end < 0 {
		return nil, errors.New(`a """ is missing`)
	}
	// More quotes belong to the text.
	for end += len(`"""`); strings.HasPrefix(p.rest()[end:], `"`); end++ {
	}
	text := p.rest()[:end-len(`"""`)]
	p.pos += end
	p.line += strings.Count(text, "\n")
	return scalar{text: text}, nil
}

// quoted reads a string in quotes, in the syntax of JSON.
func (p *parser) quoted() (string, error) {
	for end := 1; end < len(p.rest()); end++ {
		switch p.rest()[end] {
		case '\\':
			end++
		case '\n':
			return "", errors.New("a string does not end")
		case '"':
			var text string
			if err := json.Unmarshal([]byte(p.rest()[:end+1]), &text); err != nil {
				return "", fmt.Errorf("invalid string: %w", err)
			}
			p.pos += end + 1
			return text, nil
		}
	}
	return "", errors.New("a string does not end")
}
