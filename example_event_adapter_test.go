package dynajournal_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/dynajournal/dynajournal"
)

// celsius is the type of the program. The journal has texts such as "20.5 C".
type celsius float64

type celsiusAdapter struct{}

// ToJournal is the form in which an event is stored, with a manifest.
func (celsiusAdapter) ToJournal(event any) (stored any, manifest string, err error) {
	return fmt.Sprintf("%g C", float64(event.(celsius))), "celsius", nil
}

// FromJournal returns the events for what is stored: here one, or none.
func (celsiusAdapter) FromJournal(stored any, manifest string) ([]any, error) {
	text, ok := strings.CutSuffix(stored.(string), " C")
	if !ok || manifest != "celsius" {
		return nil, nil // of an earlier program
	}
	var degrees float64
	_, err := fmt.Sscan(text, &degrees)
	return []any{celsius(degrees)}, err
}

// An adapter keeps the types of the program apart from those that are stored.
func ExampleEventAdapter() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{Adapter: celsiusAdapter{}})
	defer end()
	writer, err := journal.Recover(ctx, "sensor-1", dynajournal.RecoverOptions{}, nil)
	check(err)
	_, err = writer.Append(ctx, celsius(20.5))
	check(err)

	for event, err := range journal.Events(ctx, "sensor-1", dynajournal.Range{}) {
		check(err)
		value, err := event.Payload()
		check(err)
		fmt.Printf("%s is stored, %T %v is read\n", event.Bytes, value, value)
	}
	// Output: 20.5 C is stored, dynajournal_test.celsius 20.5 is read
}
