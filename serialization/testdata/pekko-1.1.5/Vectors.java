package golden;

import static scala.jdk.javaapi.CollectionConverters.asScala;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.pekko.actor.ActorPath;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.persistence.AtLeastOnceDelivery;
import org.apache.pekko.persistence.AtomicWrite;
import org.apache.pekko.persistence.PersistentRepr;
import org.apache.pekko.persistence.fsm.PersistentFSM;
import org.apache.pekko.persistence.serialization.Snapshot;
import org.apache.pekko.serialization.Serialization;
import org.apache.pekko.serialization.SerializationExtension;
import org.apache.pekko.serialization.Serializer;
import org.apache.pekko.serialization.Serializers;
import scala.Option;
import scala.concurrent.duration.FiniteDuration;

/** Prints vectors.json: values and how Pekko serializes them. */
public class Vectors {
  public interface JsonMark {}

  public interface CborMark {}

  public static class Line {
    public String sku;
    public int count;
    public double price;

    public Line(String sku, int count, double price) {
      this.sku = sku;
      this.count = count;
      this.price = price;
    }
  }

  public static class Rich implements CborMark {
    public String id;
    public long total;
    public int negative;
    public float ratio;
    public double amount;
    public boolean paid;
    public byte[] blob;
    public String none;
    public List<Line> lines = new ArrayList<>();
    public Map<String, Integer> stock = new LinkedHashMap<>();
    public int[] nums;
    public List<String> empty = new ArrayList<>();
    public Map<String, Integer> nothing = new LinkedHashMap<>();
  }

  public static class Text implements CborMark {
    public String text;

    public Text(String text) {
      this.text = text;
    }
  }

  public static class JText implements JsonMark {
    public String text;

    public JText(String text) {
      this.text = text;
    }
  }

  public static class Unit implements JsonMark {}

  private static final List<String> lines = new ArrayList<>();
  private static Serialization serialization;

  private static void put(String name, Object value) {
    Serializer serializer = serialization.findSerializerFor(value);
    lines.add(
        String.format(
            "  {\"name\": \"%s\", \"id\": %d, \"manifest\": \"%s\", \"bytes\": \"%s\"}",
            name,
            serializer.identifier(),
            Serializers.manifestFor(serializer, value),
            Base64.getEncoder().encodeToString(serializer.toBinary(value))));
  }

  private static ActorSystem start(String extra) {
    Config config =
        ConfigFactory.parseString(
                "pekko.loglevel=OFF\n"
                    + "pekko.stdout-loglevel=OFF\n"
                    + "pekko.actor.serialization-bindings {\n"
                    + "  \"golden.Vectors$JsonMark\" = jackson-json\n"
                    + "  \"golden.Vectors$CborMark\" = jackson-cbor\n"
                    + "}\n"
                    + extra)
            .withFallback(ConfigFactory.load());
    ActorSystem system = ActorSystem.create("v", config);
    serialization = SerializationExtension.get(system);
    return system;
  }

  private static void messages() {
    String writer = "11111111-2222-3333-4444-555555555555";
    PersistentRepr repr =
        PersistentRepr.apply("hello", 7, "pid-1", "man", false, ActorRef.noSender(), writer);
    put("repr", repr);
    put("repr-timestamp-metadata", repr.withTimestamp(1700000000123L).withMetadata(42L));
    put("repr-bare", PersistentRepr.apply(5, 1, "", "", false, ActorRef.noSender(), ""));
    PersistentRepr second = repr.update(8, "pid-1", false, ActorRef.noSender(), "w");
    put("atomic-write", AtomicWrite.apply(asScala(List.of(repr, second)).toList()));

    var deliveries =
        List.of(
            new AtLeastOnceDelivery.UnconfirmedDelivery(
                11, ActorPath.fromString("pekko://v/user/a"), "first"),
            new AtLeastOnceDelivery.UnconfirmedDelivery(
                12, ActorPath.fromString("pekko://v/user/b"), 9L));
    put(
        "alod",
        new AtLeastOnceDelivery.AtLeastOnceDeliverySnapshot(12, asScala(deliveries).toList()));
    put(
        "alod-empty",
        new AtLeastOnceDelivery.AtLeastOnceDeliverySnapshot(
            0, asScala(List.<AtLeastOnceDelivery.UnconfirmedDelivery>of()).toList()));

    put(
        "fsm-change",
        new PersistentFSM.StateChangeEvent(
            "idle", Option.apply(FiniteDuration.apply(3, TimeUnit.SECONDS))));
    put("fsm-change-no-timeout", new PersistentFSM.StateChangeEvent("idle", Option.empty()));
    put(
        "fsm-snapshot",
        new PersistentFSM.PersistentFSMSnapshot<Object>(
            "busy", "data", Option.apply(FiniteDuration.apply(1500, TimeUnit.MILLISECONDS))));
    put("snapshot-envelope", new Snapshot("state"));
    put("snapshot-envelope-manifest", new Snapshot(new JText("x")));
  }

  private static void documents() {
    Rich rich = new Rich();
    rich.id = "r1";
    rich.total = 3000000000L;
    rich.negative = -70000;
    rich.ratio = 0.5f;
    rich.amount = 12.25;
    rich.paid = true;
    rich.blob = new byte[] {1, 2, 3};
    rich.lines.add(new Line("a", 1, 1.5));
    rich.lines.add(new Line("b", 300, -0.0));
    rich.stock.put("x", 1);
    rich.stock.put("y", -1);
    rich.nums = new int[] {1, 24, 256, 65536};
    put("cbor-rich", rich);

    Rich zero = new Rich();
    zero.blob = new byte[0];
    zero.total = Long.MIN_VALUE;
    zero.negative = -1;
    put("cbor-zero", zero);

    for (int n : new int[] {0, 23, 24, 255, 256, 3996, 3997, 8000}) {
      put("cbor-text-ascii-" + n, new Text("a".repeat(n)));
    }
    for (int n : new int[] {23, 200, 3997}) {
      put("cbor-text-kanji-" + n, new Text("漢".repeat(n)));
    }
    put("cbor-text-emoji-odd", new Text("x" + "😀".repeat(2000)));
    put("cbor-text-emoji-even", new Text("😀".repeat(2000)));
    put(
        "json-escapes",
        new JText("<a href=\\\"x\\\">&\u0001\u001f\u007f\u2028\u2029\t\n\r\b\f/é漢😀"));
    put("json-unit", new Unit());
  }

  private static void compressed(String algorithm) {
    String settings =
        ".compression { algorithm = " + algorithm + ", compress-larger-than = 0 KiB }\n";
    ActorSystem system =
        start(
            "pekko.serialization.jackson.jackson-json"
                + settings
                + "pekko.serialization.jackson.jackson-cbor"
                + settings);
    String text = "compressible ".repeat(40);
    put(algorithm + "-json", new JText(text));
    put(algorithm + "-cbor", new Text(text));
    put(algorithm + "-json-short", new JText("q"));
    system.terminate();
  }

  public static void main(String[] args) {
    ActorSystem system = start("");
    messages();
    documents();
    system.terminate();
    compressed("lz4");
    compressed("gzip");
    System.out.println("[\n" + String.join(",\n", lines) + "\n]");
    System.exit(0);
  }
}
