package wire

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// randomPage returns a page of similar items that differ in everything that the decoder compares:
// the order of attributes, names with a common prefix, escapes, types and white space. One page in
// three is damaged.
func randomPage(r *rand.Rand) []byte {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	space := func() string {
		if r.IntN(20) > 0 {
			return ""
		}
		return pick(" ", "\n", "\t\r ")
	}
	names := []string{"a", "ab", "a\\u0062", "\\u0061", "abc", "", "\\\"", "a\\\\", "é"}
	value := func() string {
		switch r.IntN(14) {
		case 0, 1, 2, 3:
			return `"S"` + space() + `:` + space() + `"` + pick("", "x", "xy", "x\\\"", "\\u0078", "é", strings.Repeat("x", maxKnownLength+1), `\"}`) + `"`
		case 4, 5, 6, 7:
			return `"N":` + space() + `"` + pick("0", "1", "12", "-1e5", "") + `"`
		case 8, 9:
			return `"B":"` + pick("", "AA==", "AAA=", "AAAA", "/+8=") + `"`
		case 12:
			if r.IntN(15) == 0 {
				return `"SS":[` + pick(`1`, `"x",`, `null`) + `]`
			}
			return `"SS":[` + pick(``, `"x"`, `"x","y"`, `"x" , "x"`, `"\"","é"`) + `]`
		case 13:
			if r.IntN(15) == 0 {
				return `"M":{` + pick(`"a":{"N":"1"}`, `"a":{"M":{}}`, `"a":{}`) + `}`
			}
			return `"M":{` + pick(``, `"a":{"S":"x"}`, `"a":{"S":"x"},"b":{"S":""}`, `"a":{"S":"x"},"a":{"S":"y"}`,
				`"é\"":{ "S" : "x" }`) + `}`
		case 10:
			return `"\u0053":"` + pick("x", "y") + `"`
		}
		if r.IntN(10) > 0 {
			return `"S":"x"`
		}
		return pick(`"BOOL":true`, `"S":"x","N":"1"`, `"B":"AA"`, `"S":null`, `"L":[{"S":"x"}]`, `"NS":["1"]`, `"M":null`, `"N":1`, `"":""`, `"SS":null`)
	}
	var items []string
	for range r.IntN(8) {
		if len(items) > 0 && r.IntN(3) == 0 {
			items = append(items, items[r.IntN(len(items))])
			continue
		}
		var attributes []string
		for range r.IntN(6) {
			attributes = append(attributes, `"`+names[r.IntN(len(names))]+`"`+space()+`:`+space()+`{`+space()+value()+space()+`}`+space())
		}
		items = append(items, `{`+space()+strings.Join(attributes, ","+space())+`}`)
	}
	page := []byte(`{"Items":[` + strings.Join(items, space()+","+space()) + `],"Count":` + pick("0", "1", "7") + `}`)
	if r.IntN(3) == 0 {
		at := r.IntN(len(page))
		switch r.IntN(3) {
		case 0:
			page = slices.Delete(page, at, at+1)
		case 1:
			page[at] = pick(`"`, `{`, `}`, `,`, `:`, `\`, "x", " ", "\x00", "\xff")[0]
		case 2:
			page = slices.Insert(page, at, pick(`"`, `{`, `}`, `,`, `:`, `\`, "x", " ", "[", "]")[0])
		}
	}
	return page
}

// A fuzzer would rarely generate such pages.
func TestPagesOfRandomItemsAreDecodedAsTheSDKDoes(t *testing.T) {
	t.Parallel()
	const pages = 5000
	r := rand.New(rand.NewPCG(1, 0))
	plain := 0
	for range pages {
		if compare(t, randomPage(r)) { // a failure prints the page
			plain++
		}
	}
	if plain < pages*6/10 || plain > pages*8/10 { // 69% are
		t.Errorf("%d of %d pages were plain, want about two thirds", plain, pages)
	}
}
