package interop;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.PostStop;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.persistence.typed.DeleteEventsCompleted;
import org.apache.pekko.persistence.typed.DeleteEventsFailed;
import org.apache.pekko.persistence.typed.DeleteSnapshotsCompleted;
import org.apache.pekko.persistence.typed.DeleteSnapshotsFailed;
import org.apache.pekko.persistence.typed.PersistenceId;
import org.apache.pekko.persistence.typed.RecoveryCompleted;
import org.apache.pekko.persistence.typed.RecoveryFailed;
import org.apache.pekko.persistence.typed.SnapshotCompleted;
import org.apache.pekko.persistence.typed.SnapshotFailed;
import org.apache.pekko.persistence.typed.javadsl.CommandHandler;
import org.apache.pekko.persistence.typed.javadsl.EventHandler;
import org.apache.pekko.persistence.typed.javadsl.EventSourcedBehavior;
import org.apache.pekko.persistence.typed.javadsl.RetentionCriteria;
import org.apache.pekko.persistence.typed.javadsl.SignalHandler;

/** An event-sourced behavior, whose state follows from all its events and their order. */
final class Ledger extends EventSourcedBehavior<Ledger.Command, Object, Values.Totals> {
  interface Command {}

  /** Persists the events as one write. In a hurry it reports before the deletions behind a snapshot have ended. */
  record Record(List<Object> events, boolean hurried) implements Command {}

  enum Show implements Command { INSTANCE }

  enum Stop implements Command { INSTANCE }

  /** When snapshots are saved, how many are kept, and whether the events before them are deleted; every 0 is never. */
  record Retention(int every, int keep, boolean deleteEvents) {}

  private final ActorContext<Command> context;
  private final Retention retention;
  private final BlockingQueue<Object> reports;
  private ObjectNode report = JsonNodeFactory.instance.objectNode();
  /** How many deletions are under way, and whether a report waits for their end. */
  private int deleting;
  private boolean waiting;
  private boolean stopping;
  /** The last sequence number that was recovered. */
  private long recovered;

  static Behavior<Command> create(String pid, Retention retention, BlockingQueue<Object> reports) {
    return Behaviors.setup(context -> new Ledger(context, pid, retention, reports));
  }

  private Ledger(ActorContext<Command> context, String pid, Retention retention, BlockingQueue<Object> reports) {
    super(PersistenceId.ofUniqueId(pid));
    this.context = context;
    this.retention = retention;
    this.reports = reports;
  }

  @Override
  public Values.Totals emptyState() {
    return new Values.Totals();
  }

  @Override
  public RetentionCriteria retentionCriteria() {
    if (retention.every() == 0) {
      return RetentionCriteria.disabled();
    }
    var criteria = RetentionCriteria.snapshotEvery(retention.every(), retention.keep());
    return retention.deleteEvents() ? criteria.withDeleteEventsOnSnapshot() : criteria;
  }

  @Override
  public CommandHandler<Command, Object, Values.Totals> commandHandler() {
    return newCommandHandlerBuilder().forAnyState()
        .onCommand(Record.class, record -> Effect().persist(record.events()).thenRun(state -> {
          report.set("state", Values.json(state));
          waiting = deleting > 0 && !record.hurried();
          if (!waiting) {
            send();
          }
        }))
        .onCommand(Show.class, show -> Effect().none().thenRun(state -> {
          report.set("state", Values.json(state));
          send();
        }))
        .onCommand(Stop.class, stop -> {
          stopping = true;
          return Effect().stop();
        })
        .build();
  }

  @Override
  public EventHandler<Values.Totals, Object> eventHandler() {
    return Values.Totals::after;
  }

  @Override
  public SignalHandler<Values.Totals> signalHandler() {
    return newSignalHandlerBuilder()
        .onSignal(RecoveryCompleted.instance(), state -> {
          recovered = lastSequenceNumber(context);
          report.set("state", Values.json(state));
          send();
        })
        .onSignal(SnapshotCompleted.class, (state, saved) -> saved(saved.getSnapshotMetadata().sequenceNr()))
        .onSignal(DeleteEventsCompleted.class, (state, deleted) -> {
          // The behavior deletes the snapshots before now, unless there can be none.
          if (deleted.toSequenceNr() == 1) {
            deletionEnded();
          }
        })
        .onSignal(DeleteSnapshotsCompleted.class, (state, deleted) -> deletionEnded())
        .onSignal(PostStop.instance(), state -> {
          if (!stopping) {
            fail(new IllegalStateException("the behavior has stopped by itself"));
          }
        })
        .onSignal(RecoveryFailed.class, (state, failed) -> fail(failed.getFailure()))
        .onSignal(SnapshotFailed.class, (state, failed) -> fail(failed.getFailure()))
        .onSignal(DeleteEventsFailed.class, (state, failed) -> fail(failed.getFailure()))
        .onSignal(DeleteSnapshotsFailed.class, (state, failed) -> fail(failed.getFailure()))
        .build();
  }

  private void saved(long number) {
    report.put("seq", number);
    long before = number - (long) retention.keep() * retention.every();
    if (before <= 0 || number == recovered) {
      return; // behind a long recovery a snapshot is saved, and nothing deleted
    }
    deleting++;
    if (retention.deleteEvents()) {
      report.put("deletesTo", before);
    }
  }

  private void deletionEnded() {
    deleting--;
    if (waiting && deleting == 0) {
      waiting = false;
      send();
    }
  }

  private void send() {
    reports.add(report.put("last", lastSequenceNumber(context)).put("deleting", deleting > 0));
    report = JsonNodeFactory.instance.objectNode();
  }

  private void fail(Throwable cause) {
    reports.add(JsonNodeFactory.instance.objectNode().put("failure", cause.toString()));
  }
}
