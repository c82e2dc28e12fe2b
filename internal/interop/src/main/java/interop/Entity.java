package interop;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.persistence.AbstractPersistentActor;
import org.apache.pekko.persistence.DeleteMessagesFailure;
import org.apache.pekko.persistence.DeleteMessagesSuccess;
import org.apache.pekko.persistence.DeleteSnapshotsFailure;
import org.apache.pekko.persistence.DeleteSnapshotsSuccess;
import org.apache.pekko.persistence.RecoveryCompleted;
import org.apache.pekko.persistence.SaveSnapshotFailure;
import org.apache.pekko.persistence.SaveSnapshotSuccess;
import org.apache.pekko.persistence.SnapshotOffer;
import org.apache.pekko.persistence.SnapshotSelectionCriteria;

/** A persistent actor. It reports its recovery, and the end of every command, with one object. */
final class Entity extends AbstractPersistentActor {
  /** Persists the events, as one atomic write or one by one. */
  record Persist(List<Object> events, boolean atomic) {}

  record DeleteTo(long seq) {}

  record Save(Object state) {}

  record DeleteSnapshots(SnapshotSelectionCriteria criteria) {}

  private final String pid;
  private final ActorRef reports;
  private final ObjectNode recovery = report();
  private int pending;

  Entity(String pid, ActorRef reports) {
    this.pid = pid;
    this.reports = reports;
    recovery.putArray("events");
  }

  private static ObjectNode report() {
    return JsonNodeFactory.instance.objectNode();
  }

  private void send(ObjectNode report) {
    reports.tell(report.put("last", lastSequenceNr()), self());
  }

  private void fail(Object why) {
    reports.tell(report().put("failure", String.valueOf(why)), self());
  }

  @Override
  public String persistenceId() {
    return pid;
  }

  @Override
  public Receive createReceiveRecover() {
    return receiveBuilder()
        .match(SnapshotOffer.class, offer -> {
          recovery.put("snapshot", offer.metadata().sequenceNr());
          recovery.set("state", Values.json(offer.snapshot()));
        })
        .match(RecoveryCompleted.class, completed -> send(recovery))
        .matchAny(event -> {
          ObjectNode recovered = ((ArrayNode) recovery.get("events")).addObject().put("seq", lastSequenceNr());
          recovered.set("event", Values.json(event));
        })
        .build();
  }

  @Override
  public Receive createReceive() {
    return receiveBuilder()
        .match(Persist.class, this::persistEvents)
        .match(DeleteTo.class, command -> deleteMessages(command.seq()))
        .match(DeleteMessagesSuccess.class, done -> send(report()))
        .match(DeleteMessagesFailure.class, failed -> fail(failed.cause()))
        .match(Save.class, command -> saveSnapshot(command.state()))
        .match(SaveSnapshotSuccess.class, done -> send(report().put("ts", done.metadata().timestamp())))
        .match(SaveSnapshotFailure.class, failed -> fail(failed.cause()))
        .match(DeleteSnapshots.class, command -> deleteSnapshots(command.criteria()))
        .match(DeleteSnapshotsSuccess.class, done -> send(report()))
        .match(DeleteSnapshotsFailure.class, failed -> fail(failed.cause()))
        .build();
  }

  private void persistEvents(Persist command) {
    pending = command.events().size();
    if (command.atomic()) {
      persistAll(command.events(), event -> persisted());
    } else {
      command.events().forEach(event -> persist(event, e -> persisted()));
    }
  }

  private void persisted() {
    pending--;
    if (pending == 0) {
      send(report());
    }
  }

  @Override
  public void onRecoveryFailure(Throwable cause, scala.Option<Object> event) {
    fail(cause);
  }

  @Override
  public void onPersistFailure(Throwable cause, Object event, long seq) {
    fail(cause);
  }

  @Override
  public void onPersistRejected(Throwable cause, Object event, long seq) {
    fail(cause);
  }
}
