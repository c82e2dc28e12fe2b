package attribute

import (
	"math/big"
	"strconv"
	"strings"
)

const (
	// maxDigits is the maximum number of significant digits of a number.
	maxDigits = 38
	// maxExponent and minExponent limit the exponent of a number in scientific notation.
	maxExponent = 125
	minExponent = -130
	// farExponent replaces every larger exponent, so that calculations can't overflow.
	farExponent = 1 << 60
)

const (
	notNumeric      = "The parameter cannot be converted to a numeric value"
	numberOverflow  = "Number overflow. Attempting to store a number with magnitude larger than supported range"
	numberUnderflow = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
	tooManyDigits   = "Attempting to store more than 38 significant digits in a Number"
)

// Number returns an N for a number in any notation. It returns the same errors as NormalizeNumber.
func Number(s string) (Value, error) {
	text, err := NormalizeNumber(s)
	if err != nil {
		return Value{}, err
	}
	return Value{Kind: N, Text: text}, nil
}

// NormalizeNumber returns the normal form of a number: plain decimal notation without exponent,
// plus sign and redundant zeros, never -0. Errors are *ValidationError: not a number, more than 38
// significant digits, or a magnitude outside 1E-130 to 9.99…E+125.
func NormalizeNumber(s string) (string, error) {
	if plainInteger(s) {
		return s, nil
	}
	d, ok := parseDecimal(s)
	if !ok {
		return "", &ValidationError{Message: notNumeric + ": " + s, Older: olderProblem(s, d)}
	}
	text, err := d.normalForm()
	if err != nil {
		return "", &ValidationError{Message: err.Message, Older: olderProblem(s, d)}
	}
	return text, nil
}

// olderProblem returns the older message for a text that is not a valid number. It follows Java's
// BigDecimal, whose exponent and scale have 32 bits, and whose magnitude wraps around.
func olderProblem(text string, d decimal) string {
	scale := int64(d.fraction) - d.written
	magnitude := int64(int32(int64(max(d.precision, 1)) - scale))
	switch {
	case text == "":
		return notNumeric
	case !d.parsed, int64(int32(d.written)) != d.written, int64(int32(scale)) != scale:
		return notNumeric + ": " + text
	case len(d.digits) > maxDigits && d.exponent-1 <= maxExponent && d.exponent > minExponent:
		return tooManyDigits
	case magnitude > maxExponent+1:
		return numberOverflow
	}
	return numberUnderflow
}

// plainInteger reports whether s is an integer in normal form, as most numbers are.
func plainInteger(s string) bool {
	digits := s
	if len(s) > 1 && s[0] == '-' {
		digits = s[1:]
		if digits == "0" {
			return false
		}
	}
	if digits == "" || len(digits) > maxDigits || digits[0] == '0' && len(digits) > 1 {
		return false
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return false
		}
	}
	return true
}

// decimal is the number 0.digits × 10^exponent. Zero has no digits. The digits of any other number
// begin and end with a digit that is not 0.
type decimal struct {
	negative bool
	digits   string
	exponent int
	// written is the exponent in the text.
	// fraction is the number of digits after the point.
	// precision is the number of digits from the first one that is not 0.
	written             int64
	fraction, precision int
	// parsed is false if the text is not a number.
	parsed bool
}

// parseDecimal parses a number in any notation, with any number of digits.
func parseDecimal(s string) (decimal, bool) {
	var d decimal
	mantissa := s
	if mantissa != "" && (mantissa[0] == '-' || mantissa[0] == '+') {
		d.negative = mantissa[0] == '-'
		mantissa = mantissa[1:]
	}
	if i := strings.IndexAny(mantissa, "eE"); i >= 0 {
		var ok bool
		if d.written, ok = parseExponent(mantissa[i+1:]); !ok {
			return decimal{}, false
		}
		mantissa = mantissa[:i]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if !allDigits(whole) || !allDigits(fraction) || whole == "" && fraction == "" {
		return decimal{}, false
	}
	d.parsed, d.fraction = true, len(fraction)
	switch {
	case fraction == "":
		d.digits = whole
	case strings.Trim(whole, "0") == "":
		d.digits = fraction
		whole = ""
	default:
		d.digits = whole + fraction
	}
	d.exponent = len(whole) + int(d.written)
	trimmed := strings.TrimLeft(d.digits, "0")
	d.exponent -= len(d.digits) - len(trimmed)
	d.precision = len(trimmed)
	d.digits = strings.TrimRight(trimmed, "0")
	if d.digits == "" {
		d.negative, d.exponent = false, 0
	}
	return d, true
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// parseExponent parses an exponent of up to 64 bits. It limits the exponent to farExponent, so that
// adding the number of digits in a request can't overflow.
func parseExponent(s string) (int64, bool) {
	if strings.ContainsRune(s, '_') {
		return 0, false
	}
	exponent, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err != nil:
		return 0, false
	case exponent > farExponent:
		return farExponent, true
	case exponent < -farExponent:
		return -farExponent, true
	}
	return exponent, true
}

// normalForm checks the limits and returns the normal form.
func (d decimal) normalForm() (string, *ValidationError) {
	switch {
	case d.digits == "" && d.written > maxExponent:
		return "", Invalid(numberOverflow)
	case d.digits == "" && d.written < minExponent:
		return "", Invalid(numberUnderflow)
	case d.digits == "":
		return "0", nil
	case d.exponent-1 > maxExponent:
		return "", Invalid(numberOverflow)
	case d.exponent <= minExponent:
		return "", Invalid(numberUnderflow)
	case len(d.digits) > maxDigits:
		return "", Invalid(tooManyDigits)
	}
	var b strings.Builder
	if d.negative {
		b.WriteByte('-')
	}
	switch {
	case d.exponent <= 0:
		b.WriteString("0.")
		writeZeros(&b, -d.exponent)
		b.WriteString(d.digits)
	case d.exponent >= len(d.digits):
		b.WriteString(d.digits)
		writeZeros(&b, d.exponent-len(d.digits))
	default:
		b.WriteString(d.digits[:d.exponent])
		b.WriteByte('.')
		b.WriteString(d.digits[d.exponent:])
	}
	return b.String(), nil
}

func writeZeros(b *strings.Builder, n int) {
	for range n {
		b.WriteByte('0')
	}
}

// CompareNumbers returns the order of two numbers in normal form: -1, 0 or 1.
func CompareNumbers(a, b string) int {
	aNegative, bNegative := strings.HasPrefix(a, "-"), strings.HasPrefix(b, "-")
	switch {
	case a == b:
		return 0
	case aNegative != bNegative && aNegative:
		return -1
	case aNegative != bNegative:
		return 1
	case aNegative:
		return compareMagnitudes(b[1:], a[1:])
	default:
		return compareMagnitudes(a, b)
	}
}

// compareMagnitudes relies on the normal form: equally long integer parts have their points at the
// same position, and fractions have no trailing zeros.
func compareMagnitudes(a, b string) int {
	aWhole, bWhole := wholeLength(a), wholeLength(b)
	switch {
	case aWhole < bWhole:
		return -1
	case aWhole > bWhole:
		return 1
	default:
		return strings.Compare(a, b)
	}
}

func wholeLength(s string) int {
	if i := strings.IndexByte(s, '.'); i >= 0 {
		return i
	}
	return len(s)
}

// AddNumbers returns a + b in normal form. Both must be in normal form. A result outside the range
// of numbers, or with more than 38 significant digits, is a *ValidationError. Like DynamoDB,
// AddNumbers reports too many digits as an overflow.
func AddNumbers(a, b string) (string, error) { return addDecimals(a, b, false) }

// SubtractNumbers returns a - b, like AddNumbers.
func SubtractNumbers(a, b string) (string, error) { return addDecimals(a, b, true) }

func addDecimals(a, b string, subtract bool) (string, error) {
	x, xOK := parseDecimal(a)
	y, yOK := parseDecimal(b)
	if !xOK || !yOK {
		return "", Invalid(notNumeric)
	}
	if subtract {
		y.negative = !y.negative
	}
	// Both become integers at the finer scale. The range of numbers limits the scale to about 300
	// digits.
	scale := min(x.exponent-len(x.digits), y.exponent-len(y.digits))
	sum := new(big.Int).Add(x.scaled(scale), y.scaled(scale))
	result := decimal{negative: sum.Sign() < 0}
	text := sum.Abs(sum).String()
	result.exponent = len(text) + scale
	result.digits = strings.TrimRight(text, "0")
	normal, err := result.normalForm()
	switch {
	case err == nil:
		return normal, nil
	case err.Message == tooManyDigits:
		return "", Invalid(numberOverflow)
	}
	return "", err
}

// scaled returns the number divided by 10^scale.
func (d decimal) scaled(scale int) *big.Int {
	n := new(big.Int)
	if d.digits == "" {
		return n
	}
	n.SetString(d.digits, 10)
	shift := d.exponent - len(d.digits) - scale
	n.Mul(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(shift)), nil))
	if d.negative {
		n.Neg(n)
	}
	return n
}
