package interop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.typesafe.config.ConfigFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.pekko.actor.AbstractActor;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.Props;
import org.apache.pekko.pattern.Patterns;
import org.apache.pekko.persistence.AtomicWrite;
import org.apache.pekko.persistence.JournalProtocol;
import org.apache.pekko.persistence.Persistence;
import org.apache.pekko.persistence.PersistentEnvelope;
import org.apache.pekko.persistence.PersistentRepr;
import org.apache.pekko.persistence.PersistentRepr$;
import org.apache.pekko.persistence.SelectedSnapshot;
import org.apache.pekko.persistence.SnapshotProtocol;
import org.apache.pekko.persistence.SnapshotSelectionCriteria;
import org.apache.pekko.persistence.dynamodb.journal.ListAll;
import org.apache.pekko.persistence.dynamodb.journal.ListAllResult;
import org.apache.pekko.persistence.dynamodb.journal.Purge;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** What can be asked for: entities that are real persistent actors, and the questions that a service can't ask its own. */
final class Operations {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final String WRITER = "00000000-0000-4000-8000-000000000001";

  private final ActorSystem system;
  private final Load load;
  private final Behaviors behaviors;
  private final ActorRef journal;
  private final ActorRef snapshots;
  private final BlockingQueue<Object> replies = new LinkedBlockingQueue<>();
  private final ActorRef receiver;
  private final Map<String, ActorRef> entities = new HashMap<>();

  /** Puts what it is sent where the asking thread waits for it. */
  static final class Receiver extends AbstractActor {
    private final BlockingQueue<Object> replies;

    Receiver(BlockingQueue<Object> replies) {
      this.replies = replies;
    }

    @Override
    public Receive createReceive() {
      return receiveBuilder().matchAny(replies::add).build();
    }
  }

  Operations(ActorSystem system) {
    this.system = system;
    load = new Load(system);
    behaviors = new Behaviors(system, replies);
    Persistence persistence = (Persistence) Persistence.get(system);
    journal = persistence.journalFor("", ConfigFactory.empty());
    snapshots = persistence.snapshotStoreFor("", ConfigFactory.empty());
    receiver = system.actorOf(Props.create(Receiver.class, () -> new Receiver(replies)));
  }

  ObjectNode run(JsonNode request) throws Exception {
    replies.clear();
    String pid = request.path("pid").asText();
    String op = request.path("op").asText();
    switch (op) {
      case "start":
        entities.put(pid, system.actorOf(Props.create(Entity.class, () -> new Entity(pid, receiver))));
        return (ObjectNode) reply();
      case "stop":
        Patterns.gracefulStop(entities.remove(pid), PATIENCE).toCompletableFuture().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        return answer();
      case "persist":
        return tell(pid, new Entity.Persist(objects(request.path("events")), request.path("atomic").asBoolean()));
      case "deleteTo":
        return tell(pid, new Entity.DeleteTo(request.path("to").asLong()));
      case "save":
        return tell(pid, new Entity.Save(Values.object(request.path("state"))));
      case "deleteSnapshots":
        return tell(pid, new Entity.DeleteSnapshots(criteria(request)));
      case "load":
        return load(pid, criteria(request));
      case "replay":
        return replay(pid, request);
      case "ids":
        return ids(request.path("by").asText());
      case "list":
        return list(pid);
      case "loadPersist":
        return load.persist(request);
      case "loadReplay":
        return load.replay(request);
      case "loadRecover":
        return load.recover(request);
      case "behave", "command", "show", "halt", "loadCommands":
        return behaviors.run(request);
      case "memory":
        return Load.memory();
      case "write":
        return write(pid, request.path("from").asLong(), objects(request.path("events")));
      case "purge":
        journal.tell(new Purge(pid, receiver), receiver);
        return answer().put("reply", reply().toString());
      default:
        throw new IllegalArgumentException("there is no operation " + op);
    }
  }

  private static ObjectNode answer() {
    return JsonNodeFactory.instance.objectNode();
  }

  private Object reply() throws InterruptedException, TimeoutException {
    Object reply = replies.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    if (reply == null) {
      throw new TimeoutException("there was no reply");
    }
    return reply;
  }

  private ObjectNode tell(String pid, Object command) throws Exception {
    entities.get(pid).tell(command, receiver);
    return (ObjectNode) reply();
  }

  private static List<Object> objects(JsonNode values) throws Exception {
    List<Object> objects = new ArrayList<>();
    for (JsonNode value : values) {
      objects.add(Values.object(value));
    }
    return objects;
  }

  private static SnapshotSelectionCriteria criteria(JsonNode request) {
    return SnapshotSelectionCriteria.create(
        request.path("maxSeq").asLong(Long.MAX_VALUE),
        request.path("maxTs").asLong(Long.MAX_VALUE),
        request.path("minSeq").asLong(0),
        request.path("minTs").asLong(0));
  }

  private ObjectNode load(String pid, SnapshotSelectionCriteria criteria) throws Exception {
    snapshots.tell(new SnapshotProtocol.LoadSnapshot(pid, criteria, Long.MAX_VALUE), receiver);
    Object reply = reply();
    if (!(reply instanceof SnapshotProtocol.LoadSnapshotResult)) {
      return answer().put("failure", reply.toString());
    }
    Option<SelectedSnapshot> selected = ((SnapshotProtocol.LoadSnapshotResult) reply).snapshot();
    ObjectNode answer = answer();
    if (selected.isDefined()) {
      answer.put("seq", selected.get().metadata().sequenceNr()).put("ts", selected.get().metadata().timestamp());
      answer.set("state", Values.json(selected.get().snapshot()));
    }
    return answer;
  }

  private ObjectNode replay(String pid, JsonNode window) throws Exception {
    long from = window.path("from").asLong(1);
    long to = window.path("to").asLong(Long.MAX_VALUE);
    long max = window.path("max").asLong(Long.MAX_VALUE);
    journal.tell(new JournalProtocol.ReplayMessages(from, to, max, pid, receiver), receiver);
    ObjectNode answer = answer();
    ArrayNode events = answer.putArray("events");
    while (true) {
      Object reply = reply();
      if (reply instanceof JournalProtocol.ReplayedMessage) {
        PersistentRepr event = ((JournalProtocol.ReplayedMessage) reply).persistent();
        ObjectNode shown = events.addObject();
        shown.put("seq", event.sequenceNr()).put("manifest", event.manifest()).put("writer", event.writerUuid());
        shown.set("event", Values.json(event.payload()));
      } else if (reply instanceof JournalProtocol.RecoverySuccess) {
        return answer.put("highest", ((JournalProtocol.RecoverySuccess) reply).highestSequenceNr());
      } else {
        return answer().put("failure", reply.toString());
      }
    }
  }

  /** Gives single events to the journal all at once, without an entity, which would wait for each before the next. */
  private ObjectNode write(String pid, long from, List<Object> events) throws Exception {
    for (int i = 0; i < events.size(); i++) {
      PersistentRepr event = PersistentRepr$.MODULE$.apply(events.get(i), from + i, pid, "", false, ActorRef.noSender(), WRITER);
      PersistentEnvelope write = new AtomicWrite(seq(event));
      journal.tell(new JournalProtocol.WriteMessages(seq(write), receiver, 1), receiver);
    }
    for (int written = 0; written < events.size(); ) {
      Object reply = reply();
      if (reply instanceof JournalProtocol.WriteMessageSuccess) {
        written++;
      } else if (reply instanceof JournalProtocol.WriteMessageFailure || reply instanceof JournalProtocol.WriteMessageRejected) {
        return answer().put("failure", reply.toString());
      }
    }
    return answer();
  }

  private static <T> Seq<T> seq(T only) {
    return CollectionConverters.asScala(List.of(only)).toSeq();
  }

  private ObjectNode ids(String by) throws Exception {
    ObjectNode answer = answer();
    ArrayNode listed = answer.putArray("ids");
    Ids.list(system, by, PATIENCE).forEach(listed::add);
    return answer;
  }

  private ObjectNode list(String pid) throws Exception {
    journal.tell(new ListAll(pid, receiver), receiver);
    ListAllResult all = (ListAllResult) reply();
    ObjectNode answer = answer();
    addNumbers(answer.putArray("lowMarks"), CollectionConverters.asJava(all.lowest()));
    addNumbers(answer.putArray("highMarks"), CollectionConverters.asJava(all.highest()));
    addNumbers(answer.putArray("events"), CollectionConverters.asJava(all.events()));
    return answer;
  }

  private static void addNumbers(ArrayNode array, Iterable<Object> numbers) {
    TreeSet<Long> sorted = new TreeSet<>();
    numbers.forEach(n -> sorted.add(((Number) n).longValue()));
    sorted.forEach(array::add);
  }
}
