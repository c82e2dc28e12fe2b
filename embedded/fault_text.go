package embedded

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxFaultText is the length limit of the text of a fault.
const maxFaultText = 16 << 10

// ParseFault parses the text form of a fault, which [Fault.String] returns:
//
//	EFFECT[,CLAUSE]...
//
// EFFECT is the value of one of the Effect constants. A CLAUSE is one of
//
//	operation=PATTERN  table=PATTERN  key=PATTERN  sort-key=PATTERN  index=PATTERN
//	nth=N  every=N  probability=P  times=N
//	applied  some  code=CODE  delay=DURATION
//
// and sets the field of Fault with its name, each at most once. N is a positive decimal number, P a
// number above 0, up to 1, and DURATION a duration for [time.ParseDuration]. There are no spaces
// around commas and equals signs. A value that contains a comma or a quotation mark is quoted as a
// Go string. Examples:
//
//	throttling,operation=PutItem,probability=0.1
//	reset,applied,table=pekko-persistence,key=journal-P-account-1-*,nth=3
//	statement-errors,some,code=InternalServerError,every=10
func ParseFault(spec string) (Fault, error) {
	f, err := parseFault(spec)
	if err == nil {
		err = f.check()
	}
	if err != nil {
		return Fault{}, fmt.Errorf("embedded: fault %.200q: %w", spec, err)
	}
	return f, nil
}

func parseFault(spec string) (Fault, error) {
	if len(spec) > maxFaultText {
		return Fault{}, fmt.Errorf("longer than %d bytes", maxFaultText)
	}
	effect, rest, more := strings.Cut(spec, ",")
	f := Fault{Effect: Effect(effect)}
	seen := map[string]bool{}
	for more {
		name, value, left, err := cutClause(rest)
		if err != nil {
			return f, err
		}
		if seen[name] {
			return f, fmt.Errorf("%s is given twice", name)
		}
		seen[name] = true
		if err := f.set(name, value); err != nil {
			return f, err
		}
		more = left != ""
		rest = strings.TrimPrefix(left, ",")
	}
	return f, nil
}

// cutClause returns the first clause. left starts with the comma after it, if there is one. The
// value of a flag is nil.
func cutClause(text string) (name string, value *string, left string, err error) {
	end := strings.IndexAny(text, ",=")
	if end < 0 {
		return text, nil, "", nil
	}
	name, left = text[:end], text[end:]
	if left[0] == ',' {
		return name, nil, left, nil
	}
	left = left[1:]
	var plain string
	if strings.HasPrefix(left, `"`) {
		quoted, err := strconv.QuotedPrefix(left)
		if err == nil {
			plain, err = strconv.Unquote(quoted)
		}
		if err != nil {
			return name, nil, "", fmt.Errorf("the value of %s is not quoted as a Go string", name)
		}
		left = left[len(quoted):]
		if left != "" && left[0] != ',' {
			return name, nil, "", fmt.Errorf("the quoted value of %s is followed by %.20q, not by a comma", name, left)
		}
		return name, &plain, left, nil
	}
	if end = strings.IndexByte(left, ','); end < 0 {
		end = len(left)
	}
	plain = left[:end]
	return name, &plain, left[end:], nil
}

func (f *Fault) set(name string, value *string) error {
	if name == "applied" || name == "some" {
		if value != nil {
			return fmt.Errorf("%s takes no value", name)
		}
		f.Applied, f.Some = f.Applied || name == "applied", f.Some || name == "some"
		return nil
	}
	texts := map[string]*string{
		"operation": &f.Operation, "table": &f.Table, "key": &f.Key, "sort-key": &f.SortKey, "index": &f.Index, "code": &f.Code,
	}
	counts := map[string]*int{"nth": &f.Nth, "every": &f.Every, "times": &f.Times}
	text, isText := texts[name]
	count, isCount := counts[name]
	switch {
	case !isText && !isCount && name != "probability" && name != "delay":
		return fmt.Errorf("unknown clause %.40q: the clauses are operation, table, key, sort-key, index, nth, every, probability, "+
			"times, applied, some, code and delay", name)
	case value == nil || *value == "":
		return fmt.Errorf("%s needs a value", name)
	case isText:
		*text = *value
		return nil
	case isCount:
		n, err := strconv.Atoi(*value)
		if err != nil || n < 1 {
			return fmt.Errorf("%s is %.40q, not a positive number", name, *value)
		}
		*count = n
		return nil
	case name == "probability":
		p, err := strconv.ParseFloat(*value, 64)
		if err != nil || !(p > 0 && p <= 1) { // NaN is neither.
			return fmt.Errorf("the probability is %.40q, not a number above 0, up to 1", *value)
		}
		f.Probability = p
		return nil
	}
	delay, err := time.ParseDuration(*value)
	if err != nil || delay == 0 || delay < 0 && f.Effect != EffectWrongClock {
		return fmt.Errorf("the delay is %.40q, not a duration above 0, such as 150ms", *value)
	}
	f.Delay = delay
	return nil
}

// String returns the text of the fault, which [ParseFault] parses.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(string(f.Effect))
	flag := func(name string, set bool) {
		if set {
			b.WriteString("," + name)
		}
	}
	text := func(name, value string) {
		if strings.ContainsAny(value, `,"`) {
			value = strconv.Quote(value)
		}
		flag(name+"="+value, value != "")
	}
	flag("applied", f.Applied)
	flag("some", f.Some)
	text("code", f.Code)
	flag("delay="+f.Delay.String(), f.Delay != 0)
	text("operation", f.Operation)
	text("table", f.Table)
	text("key", f.Key)
	text("sort-key", f.SortKey)
	text("index", f.Index)
	flag("nth="+strconv.Itoa(f.Nth), f.Nth != 0)
	flag("every="+strconv.Itoa(f.Every), f.Every != 0)
	flag("probability="+strconv.FormatFloat(f.Probability, 'g', -1, 64), f.Probability != 0)
	flag("times="+strconv.Itoa(f.Times), f.Times != 0)
	return b.String()
}
