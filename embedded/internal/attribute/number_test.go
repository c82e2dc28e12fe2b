package attribute_test

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

func TestNumbersHaveOneNormalForm(t *testing.T) {
	nines := strings.Repeat("9", 38)
	for in, want := range map[string]string{
		"0": "0", "-0": "0", "+0": "0", "0.000": "0", "-0e5": "0", "0e125": "0", "0e-130": "0",
		"1": "1", "-1": "-1", "+1": "1", "007": "7", "-007": "-7", "100": "100", "1.500": "1.5", "0001.50": "1.5",
		".5": "0.5", "-.5": "-0.5", "5.": "5", "1e2": "100", "1E+2": "100", "1e-2": "0.01", "12.34e1": "123.4",
		"12.34e-3": "0.01234", "0.00012e2": "0.012", "1e00000000000000000000002": "100",
		nines:                       nines,
		nines + "0000":              nines + "0000",
		"0." + nines:                "0." + nines,
		"1e125":                     "1" + strings.Repeat("0", 125),
		"1e-130":                    "0." + strings.Repeat("0", 129) + "1",
		"-9." + nines[1:] + "E+125": "-" + nines + strings.Repeat("0", 125-37),
	} {
		got, err := attribute.NormalizeNumber(in)
		if err != nil || got != want {
			t.Errorf("NormalizeNumber(%q) = %q, %v; want %q", in, got, err, want)
		}
		if again, err := attribute.NormalizeNumber(got); err != nil || again != got {
			t.Errorf("normal form %q is not stable: %q, %v", got, again, err)
		}
	}
}

func TestInvalidNumbersAreRefusedWithDynamoDBsMessages(t *testing.T) {
	const notNumeric = "The parameter cannot be converted to a numeric value"
	const overflow = "Number overflow. Attempting to store a number with magnitude larger than supported range"
	const underflow = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
	for in, want := range map[string]string{
		"": notNumeric + ": ", "abc": notNumeric + ": abc", ".": notNumeric + ": .", "-": notNumeric + ": -", "1e": notNumeric + ": 1e",
		" 1": notNumeric + ":  1", "1 ": notNumeric + ": 1 ", "0x1": notNumeric + ": 0x1", "1.2.3": notNumeric + ": 1.2.3",
		"--1": notNumeric + ": --1", "NaN": notNumeric + ": NaN", "Infinity": notNumeric + ": Infinity", "1_0": notNumeric + ": 1_0",
		"1e126": overflow, "-1e126": overflow, "1e99999999999": overflow, "1e2147483648": overflow, "0e126": overflow,
		"1e-131": underflow, "-1e-131": underflow, "1e-99999999999": underflow, "0e-131": underflow,
		"1e9223372036854775808": notNumeric + ": 1e9223372036854775808",
		strings.Repeat("1", 39): "Attempting to store more than 38 significant digits in a Number",
	} {
		_, err := attribute.NormalizeNumber(in)
		var invalid *attribute.ValidationError
		if !errors.As(err, &invalid) || invalid.Message != want {
			t.Errorf("NormalizeNumber(%q): %v; want %q", in, err, want)
		}
	}
}

func TestOlderWordingTreatsNumbersAsBigDecimal(t *testing.T) {
	const notNumeric = "The parameter cannot be converted to a numeric value"
	const overflow = "Number overflow. Attempting to store a number with magnitude larger than supported range"
	const underflow = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
	for in, want := range map[string]string{
		"": notNumeric, "abc": notNumeric + ": abc", "1e126": overflow, "-1e126": overflow, "1e-131": underflow, "1e2147483647": underflow,
		"1e99999999999": notNumeric + ": 1e99999999999", "1e2147483648": notNumeric + ": 1e2147483648",
		"1e-2147483648": notNumeric + ": 1e-2147483648", "1.5e-2147483647": notNumeric + ": 1.5e-2147483647",
		strings.Repeat("1", 39): "Attempting to store more than 38 significant digits in a Number",
	} {
		_, err := attribute.NormalizeNumber(in)
		var invalid *attribute.ValidationError
		if !errors.As(err, &invalid) || invalid.OlderWording().Message != want {
			t.Errorf("NormalizeNumber(%q): %v; want %q", in, err, want)
		}
	}
}

func TestSumsAreExactOrRefused(t *testing.T) {
	nines := strings.Repeat("9", 38)
	for _, c := range []struct{ a, b, sum, difference string }{
		{"1", "2", "3", "-1"},
		{"0.1", "0.2", "0.3", "-0.1"},
		{"5", "5", "10", "0"},
		{"-1.5", "1.5", "0", "-3"},
		{nines, "1", "1" + strings.Repeat("0", 38), nines[1:] + "8"},
		{"1" + strings.Repeat("0", 125), "1" + strings.Repeat("0", 125), "2" + strings.Repeat("0", 125), "0"},
		{"1" + strings.Repeat("0", 38), "1", "", strings.Repeat("9", 38)},
		{"9" + strings.Repeat("0", 125), "1" + strings.Repeat("0", 125), "", "8" + strings.Repeat("0", 125)},
	} {
		sum, err := attribute.AddNumbers(c.a, c.b)
		if sum != c.sum || (err == nil) != (c.sum != "") {
			t.Errorf("%s + %s = %q, %v; want %q", c.a, c.b, sum, err, c.sum)
		}
		difference, err := attribute.SubtractNumbers(c.a, c.b)
		if c.difference == nines[1:]+"8" {
			c.difference = strings.Repeat("9", 37) + "8"
		}
		if err != nil || difference != c.difference {
			t.Errorf("%s - %s = %q, %v; want %q", c.a, c.b, difference, err, c.difference)
		}
	}
}

// numbers draws numbers in normal form from the whole range, often close ones.
func numbers() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		text := rapid.StringMatching(`-?[0-9]{1,6}(\.[0-9]{1,6})?(e-?[0-9]{1,2})?|-?[1-9]\.[0-9]{30,37}e(-?[0-9]{1,2}|12[0-5]|-12[0-9])`).Draw(t, "number")
		normal, err := attribute.NormalizeNumber(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		return normal
	})
}

func rational(t *rapid.T, s string) *big.Rat {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		t.Fatalf("%q is no number", s)
	}
	return r
}

func TestNumbersCompareAndAddAsRationalsDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := numbers().Draw(t, "a"), numbers().Draw(t, "b")
		x, y := rational(t, a), rational(t, b)
		if got, want := attribute.CompareNumbers(a, b), x.Cmp(y); got != want {
			t.Fatalf("CompareNumbers(%s, %s) = %d, want %d", a, b, got, want)
		}
		if sum, err := attribute.AddNumbers(a, b); err == nil && rational(t, sum).Cmp(new(big.Rat).Add(x, y)) != 0 {
			t.Fatalf("%s + %s = %s", a, b, sum)
		}
		if difference, err := attribute.SubtractNumbers(a, b); err == nil && rational(t, difference).Cmp(new(big.Rat).Sub(x, y)) != 0 {
			t.Fatalf("%s - %s = %s", a, b, difference)
		}
	})
}

func FuzzNormalizeNumber(f *testing.F) {
	for _, s := range []string{"1", "-0.5e10", "1e125", "1e-130", ".", "00", "1e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		normal, err := attribute.NormalizeNumber(s)
		if err != nil {
			return
		}
		if again, err := attribute.NormalizeNumber(normal); err != nil || again != normal {
			t.Fatalf("%q → %q → %q, %v", s, normal, again, err)
		}
		if len(s) > 200 {
			return
		}
		if exact, ok := new(big.Rat).SetString(s); ok {
			if stored, _ := new(big.Rat).SetString(normal); exact.Cmp(stored) != 0 {
				t.Fatalf("%q changed its value: %q", s, normal)
			}
		}
	})
}
