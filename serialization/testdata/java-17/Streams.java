import java.io.ByteArrayOutputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Prints streams.json: values, and how Java's object serialization writes them. */
public class Streams {
  public static class Order implements Serializable {
    private static final long serialVersionUID = 1L;
    public String id = "a";
    public Long amount = 5L;
  }

  private static final List<String> lines = new ArrayList<>();

  interface Writer {
    void write(ObjectOutputStream out) throws Exception;
  }

  private static byte[] stream(Writer writer) throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      writer.write(out);
    }
    return bytes.toByteArray();
  }

  private static void line(String name, String kind, String value, int times, Writer writer)
      throws Exception {
    lines.add(
        String.format(
            "  {\"name\": \"%s\", \"kind\": \"%s\", \"value\": \"%s\", \"times\": %d, \"bytes\": \"%s\"}",
            name,
            kind,
            Base64.getEncoder().encodeToString(value.getBytes(StandardCharsets.UTF_8)),
            times,
            Base64.getEncoder().encodeToString(stream(writer))));
  }

  /** A value that is read: its text is what a reader is to find. */
  private static void value(String name, String kind, Object value) throws Exception {
    line(name, kind, value.toString(), 1, out -> out.writeObject(value));
  }

  /** A string that is read, which is a text several times. */
  private static void repeated(String name, String text, int times) throws Exception {
    line(name, "string", text, times, out -> out.writeObject(text.repeat(times)));
  }

  /** A stream that stays bytes, with the class that it begins with. */
  private static void other(String name, String javaClass, Writer writer) throws Exception {
    line(name, "other", javaClass, 1, writer);
  }

  public static void main(String[] args) throws Exception {
    value("string-empty", "string", "");
    value("string-ascii", "string", "event-1");
    value("string-nul", "string", "a\0b\0");
    value("string-two-bytes", "string", "\u0080é\u07ff");
    value("string-three-bytes", "string", "\u0800漢\ud7ff\ue000\uffff\ufffd");
    value("string-pairs", "string", "😀\ud800\udc00\udbff\udfff");
    repeated("string-longest-short", "漢", 21845);
    repeated("string-first-long", "😀", 10923);
    for (long n : new long[] {0, 1, -1, 42, Long.MIN_VALUE, Long.MAX_VALUE}) {
      value("long" + n, "long", n);
    }
    for (int n : new int[] {0, 1, -1, 42, Integer.MIN_VALUE, Integer.MAX_VALUE}) {
      value("int" + n, "int", n);
    }
    value("boolean-true", "bool", true);
    value("boolean-false", "bool", false);

    String text = "java.lang.String";
    other("high-surrogate-alone", text, out -> out.writeObject("a\ud800"));
    other("low-surrogate-alone", text, out -> out.writeObject("\udc00a"));
    other("surrogates-reversed", text, out -> out.writeObject("\udc00\ud800"));
    other(
        "two-strings",
        text,
        out -> {
          out.writeObject("a");
          out.writeObject("b");
        });
    other(
        "two-longs",
        "java.lang.Long",
        out -> {
          out.writeObject(1L);
          out.writeObject(2L);
        });
    other(
        "block-data",
        "",
        out -> {
          out.writeUTF("a");
          out.writeObject("a");
        });
    other("null", "", out -> out.writeObject(null));
    other("short", "java.lang.Short", out -> out.writeObject((short) 1));
    other("byte", "java.lang.Byte", out -> out.writeObject((byte) 1));
    other("double", "java.lang.Double", out -> out.writeObject(1.5));
    other("float", "java.lang.Float", out -> out.writeObject(1.5f));
    other("character", "java.lang.Character", out -> out.writeObject('a'));
    other("big-integer", "java.math.BigInteger", out -> out.writeObject(BigInteger.TEN));
    other("bytes", "[B", out -> out.writeObject(new byte[] {1, 2}));
    other("strings", "[Ljava.lang.String;", out -> out.writeObject(new String[] {"a", "b"}));
    other("list", "java.util.ArrayList", out -> out.writeObject(new ArrayList<>(List.of("a", 1L))));
    other("enum", "java.util.concurrent.TimeUnit", out -> out.writeObject(TimeUnit.DAYS));
    other("class", "java.lang.Class", out -> out.writeObject(Long.class));
    other("object", "Streams$Order", out -> out.writeObject(new Order()));
    System.out.println("[\n" + String.join(",\n", lines) + "\n]");
  }
}
