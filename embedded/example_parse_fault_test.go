package embedded_test

import (
	"fmt"
	"log"

	"github.com/dynajournal/dynajournal/embedded"
)

// The text of a fault is the value of the flag --fault of "dynajournal serve".
func ExampleParseFault() {
	fault, err := embedded.ParseFault("slow,operation=PutItem,table=orders,every=10,delay=3s")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(fault.Effect, fault.Operation, fault.Every, fault.Delay)

	_, err = embedded.ParseFault("slow,operation=PutItem")
	fmt.Println(err)
	// Output:
	// slow PutItem 10 3s
	// embedded: fault "slow,operation=PutItem": the effect slow needs a delay
}
