// Package process lets events of entities lead to commands of other entities: a process manager, or
// saga. What a [Process] reacts to are the events that a projection hands to it, at least once.
// What it sends are commands with ids, so each has its effect once, within the limits that [New]
// names:
//
//	transfers, err := process.New(process.Config{
//		Name: "transfers",
//		React: func(ctx context.Context, event dynajournal.Event) ([]process.Command, error) {
//			sent, err := dynajournal.Decode[Sent](ctx, event)
//			if err != nil {
//				return nil, err
//			}
//			return []process.Command{process.To(accounts, sent.To, receive(sent))}, nil
//		},
//	})
//	group, err := projection.New(journal, config, projection.AtLeastOnce("transfers", transfers))
package process
