package interop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.StringValue;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import org.apache.pekko.persistence.journal.Tagged;
import org.apache.pekko.util.ByteString;

/** The values that are persisted, and their form between the two programs: {"type": …, "value": …}. */
final class Values {
  private Values() {}

  private static final ObjectMapper JSON = new ObjectMapper();

  /** Goes by Jackson as JSON, in version 2. */
  public static final class OrderPlaced {
    public String id;
    public long amount;
    public String note;
  }

  /** Goes by Jackson as CBOR. */
  public static final class OrderShipped {
    public String id;
    public long amount;
    public String note;
  }

  /** The state of a ledger. Goes by Jackson as JSON. */
  public static final class Totals {
    /** How many of the newest notes there are. */
    private static final int NEWEST = 3;

    public long placed;
    public long shipped;
    public long amount;
    /** Depends on all events and their order. */
    public long hash;
    public List<String> newest = List.of();

    /** The state after an event. This one stays as it is. */
    Totals after(Object event) {
      Totals next = new Totals();
      next.placed = placed;
      next.shipped = shipped;
      String note;
      if (event instanceof OrderPlaced order) {
        next.placed++;
        next.amount = amount + order.amount;
        note = order.note;
      } else {
        OrderShipped order = (OrderShipped) event;
        next.shipped++;
        next.amount = amount - order.amount;
        note = order.note;
      }
      next.hash = hash * 31 + next.amount;
      for (int i = 0; i < note.length(); i++) {
        next.hash = next.hash * 31 + note.charAt(i);
      }
      next.newest = new ArrayList<>(newest);
      next.newest.add(note);
      if (next.newest.size() > NEWEST) {
        next.newest.remove(0);
      }
      return next;
    }
  }

  /** Goes by Java serialization. */
  public static final class OrderCancelled implements Serializable {
    private static final long serialVersionUID = 1L;
    public String id;
  }

  /** Is stored as a string by RemarkAdapter. */
  public static final class Remark {
    public String text;
  }

  static Object object(JsonNode typed) throws Exception {
    JsonNode value = typed.path("value");
    String type = typed.path("type").asText();
    switch (type) {
      case "string":
        return value.asText();
      case "bytes":
        return Base64.getDecoder().decode(value.asText());
      case "bytestring":
        return ByteString.fromArray(Base64.getDecoder().decode(value.asText()));
      case "long":
        return value.asLong();
      case "int":
        return value.asInt();
      case "bool":
        return value.asBoolean();
      case "protobuf":
        return StringValue.of(value.asText());
      case "placed":
        return JSON.treeToValue(value, OrderPlaced.class);
      case "shipped":
        return JSON.treeToValue(value, OrderShipped.class);
      case "cancelled":
        return JSON.treeToValue(value, OrderCancelled.class);
      case "remark":
        return JSON.treeToValue(value, Remark.class);
      case "tagged":
        return new Tagged(value.asText(), Set.of("tag"));
      default:
        throw new IllegalArgumentException("there is no type " + type);
    }
  }

  static ObjectNode json(Object object) {
    if (object instanceof String) {
      return typed("string", object);
    } else if (object instanceof byte[]) {
      return typed("bytes", object);
    } else if (object instanceof ByteString) {
      return typed("bytestring", ((ByteString) object).toArray());
    } else if (object instanceof Long) {
      return typed("long", object);
    } else if (object instanceof Integer) {
      return typed("int", object);
    } else if (object instanceof Boolean) {
      return typed("bool", object);
    } else if (object instanceof StringValue) {
      return typed("protobuf", ((StringValue) object).getValue());
    } else if (object instanceof OrderPlaced) {
      return typed("placed", object);
    } else if (object instanceof OrderShipped) {
      return typed("shipped", object);
    } else if (object instanceof OrderCancelled) {
      return typed("cancelled", object);
    } else if (object instanceof Remark) {
      return typed("remark", object);
    } else if (object instanceof Totals) {
      return typed("totals", object);
    } else if (object instanceof Tagged) {
      return typed("tagged", ((Tagged) object).payload());
    }
    return typed(object.getClass().getName(), object.toString());
  }

  private static ObjectNode typed(String type, Object value) {
    ObjectNode typed = JsonNodeFactory.instance.objectNode().put("type", type);
    typed.set("value", JSON.valueToTree(value));
    return typed;
  }
}
