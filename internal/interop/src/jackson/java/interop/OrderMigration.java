package interop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.pekko.serialization.jackson.JacksonMigration;

/** Version 2 of an order has a note. */
public final class OrderMigration extends JacksonMigration {
  @Override
  public int currentVersion() {
    return 2;
  }

  @Override
  public JsonNode transform(int from, JsonNode order) {
    return ((ObjectNode) order).put("note", "from version " + from);
  }
}
