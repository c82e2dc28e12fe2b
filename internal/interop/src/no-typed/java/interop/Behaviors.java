package interop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.concurrent.BlockingQueue;
import org.apache.pekko.actor.ActorSystem;

/** Akka 2.5 has no serializers of Jackson, which the behaviors need. */
final class Behaviors {
  Behaviors(ActorSystem system, BlockingQueue<Object> replies) {}

  ObjectNode run(JsonNode request) {
    throw new UnsupportedOperationException("this plug-in is tested without event-sourced behaviors");
  }
}
