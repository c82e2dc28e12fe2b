package testseed

import (
	"flag"
	"strconv"

	_ "pgregory.net/rapid" // defines the flag
)

// FixRapid gives rapid a fixed seed instead of a random one. The command line and the environment
// variable RAPID_SEED take precedence. Call it in TestMain, before flags are parsed.
func FixRapid() {
	const name, drawn = "rapid.seed", "0"
	if flag.Lookup(name).Value.String() != drawn {
		return
	}
	if err := flag.Set(name, strconv.Itoa(fixed)); err != nil {
		panic(err) // the name and the value are constant
	}
}
