// Package process runs commands of entities in reaction to events of other entities: it implements
// process managers, also called sagas. A projection hands the events to a [Process], at least once.
// The process runs commands with ids, so each command has its effect once, within the limits that
// [New] describes:
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
