package interop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.javadsl.Adapter;
import org.apache.pekko.pattern.Patterns;

/** What can be asked for of event-sourced behaviors. */
final class Behaviors {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final ActorSystem system;
  private final BlockingQueue<Object> replies;
  private final CommandLoad load;
  private final Map<String, ActorRef<Ledger.Command>> running = new HashMap<>();

  Behaviors(ActorSystem system, BlockingQueue<Object> replies) {
    this.system = system;
    this.replies = replies;
    load = new CommandLoad(system);
  }

  ObjectNode run(JsonNode request) throws Exception {
    String pid = request.path("pid").asText();
    switch (request.path("op").asText()) {
      case "behave":
        running.put(pid, Adapter.spawnAnonymous(system, Ledger.create(pid, retention(request), replies)));
        return reply();
      case "command":
        running.get(pid).tell(new Ledger.Record(objects(request.path("events")), request.path("hurried").asBoolean()));
        return reply();
      case "show":
        running.get(pid).tell(Ledger.Show.INSTANCE);
        return reply();
      case "halt":
        Patterns.gracefulStop(Adapter.toClassic(running.remove(pid)), PATIENCE, Ledger.Stop.INSTANCE)
            .toCompletableFuture()
            .get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        return JsonNodeFactory.instance.objectNode();
      default:
        return load.run(request);
    }
  }

  private static Ledger.Retention retention(JsonNode request) {
    return new Ledger.Retention(
        request.path("every").asInt(), request.path("keep").asInt(), request.path("deleteEvents").asBoolean());
  }

  private static List<Object> objects(JsonNode values) throws Exception {
    List<Object> objects = new ArrayList<>();
    for (JsonNode value : values) {
      objects.add(Values.object(value));
    }
    return objects;
  }

  private ObjectNode reply() throws Exception {
    Object reply = replies.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    if (reply == null) {
      throw new TimeoutException("there was no reply");
    }
    return (ObjectNode) reply;
  }
}
