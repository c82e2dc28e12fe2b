package interop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.Props;
import org.apache.pekko.pattern.Patterns;
import org.apache.pekko.persistence.AbstractPersistentActor;
import org.apache.pekko.persistence.Recovery;
import org.apache.pekko.persistence.RecoveryCompleted;
import org.apache.pekko.persistence.SnapshotOffer;
import org.apache.pekko.persistence.SnapshotSelectionCriteria;

/** Work that is measured: entities that persist as fast as they can, and recoveries. They do nothing that would slow it. */
final class Load {
  private static final int EVENT_BYTES = 512;
  private static final Duration PATIENCE = Duration.ofMinutes(2);

  private final ActorSystem system;

  Load(ActorSystem system) {
    this.system = system;
  }

  /** Tells an entity to persist single events, one at a time, until a time of the nano clock. */
  record Run(long until) {}

  /** An entity is up, with so many events replayed. */
  record Up(int events) {}

  /** An entity has ended its run; latencies are in nanoseconds. */
  record Done(List<Long> latencies) {}

  record Failed(Throwable cause) {}

  static final class Entity extends AbstractPersistentActor {
    private final String pid;
    private final BlockingQueue<Object> reports;
    private final boolean snapshots;
    private final byte[] payload = new byte[EVENT_BYTES];
    private final List<Long> latencies = new ArrayList<>();
    private int recovered;
    private long until;

    Entity(String pid, BlockingQueue<Object> reports, boolean snapshots) {
      this.pid = pid;
      this.reports = reports;
      this.snapshots = snapshots;
      ThreadLocalRandom.current().nextBytes(payload);
    }

    @Override
    public String persistenceId() {
      return pid;
    }

    @Override
    public Recovery recovery() {
      return snapshots ? Recovery.create() : Recovery.create(SnapshotSelectionCriteria.none());
    }

    @Override
    public Receive createReceiveRecover() {
      return receiveBuilder()
          .match(SnapshotOffer.class, offer -> {})
          .match(RecoveryCompleted.class, completed -> reports.add(new Up(recovered)))
          .matchAny(event -> recovered++)
          .build();
    }

    @Override
    public Receive createReceive() {
      return receiveBuilder().match(Run.class, this::persistUntil).build();
    }

    private void persistUntil(Run run) {
      until = run.until();
      next();
    }

    private void next() {
      long begin = System.nanoTime();
      if (begin >= until) {
        reports.add(new Done(latencies));
        return;
      }
      persist(payload, event -> {
        latencies.add(System.nanoTime() - begin);
        next();
      });
    }

    @Override
    public void onRecoveryFailure(Throwable cause, scala.Option<Object> event) {
      reports.add(new Failed(cause));
    }

    @Override
    public void onPersistFailure(Throwable cause, Object event, long seq) {
      reports.add(new Failed(cause));
    }

    @Override
    public void onPersistRejected(Throwable cause, Object event, long seq) {
      reports.add(new Failed(cause));
    }
  }

  /** All entities persist at the same time. */
  ObjectNode persist(JsonNode request) throws Exception {
    BlockingQueue<Object> reports = new LinkedBlockingQueue<>();
    List<ActorRef> entities = startAll(request, reports);
    awaitUp(entities.size(), reports);
    long cpu = cpu();
    long begin = System.nanoTime();
    Run run = new Run(begin + (long) (request.path("seconds").asDouble() * 1e9));
    entities.forEach(entity -> entity.tell(run, ActorRef.noSender()));
    List<Long> latencies = new ArrayList<>();
    for (int i = 0; i < entities.size(); i++) {
      latencies.addAll(await(Done.class, reports).latencies());
    }
    ObjectNode answer = measured(latencies.size(), begin, cpu);
    stopAll(entities);
    return withPercentiles(answer, latencies);
  }

  /** All entities recover at the same time. */
  ObjectNode replay(JsonNode request) throws Exception {
    BlockingQueue<Object> reports = new LinkedBlockingQueue<>();
    long cpu = cpu();
    long begin = System.nanoTime();
    List<ActorRef> entities = startAll(request, reports);
    ObjectNode answer = measured(awaitUp(entities.size(), reports), begin, cpu);
    stopAll(entities);
    return answer;
  }

  /** One entity recovers after the other. */
  ObjectNode recover(JsonNode request) throws Exception {
    BlockingQueue<Object> reports = new LinkedBlockingQueue<>();
    List<Long> latencies = new ArrayList<>();
    long cpu = cpu();
    long begin = System.nanoTime();
    long events = 0;
    for (int i = 0; i < request.path("entities").asInt(); i++) {
      long started = System.nanoTime();
      ActorRef entity = start(request, i, reports);
      events += await(Up.class, reports).events();
      latencies.add(System.nanoTime() - started);
      stopAll(List.of(entity));
    }
    return withPercentiles(measured(events, begin, cpu), latencies);
  }

  /** The resident memory of this process, in bytes, now and at its most. */
  static ObjectNode memory() throws Exception {
    ObjectNode answer = JsonNodeFactory.instance.objectNode();
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      String[] words = line.split("\\s+");
      if (words[0].equals("VmRSS:")) {
        answer.put("resident", Long.parseLong(words[1]) << 10);
      } else if (words[0].equals("VmHWM:")) {
        answer.put("peak", Long.parseLong(words[1]) << 10);
      }
    }
    return answer;
  }

  private ActorRef start(JsonNode request, int i, BlockingQueue<Object> reports) {
    String pid = request.path("prefix").asText() + "-" + i;
    boolean snapshots = request.path("snapshots").asBoolean();
    return system.actorOf(Props.create(Entity.class, () -> new Entity(pid, reports, snapshots)));
  }

  private List<ActorRef> startAll(JsonNode request, BlockingQueue<Object> reports) {
    List<ActorRef> entities = new ArrayList<>();
    for (int i = 0; i < request.path("entities").asInt(); i++) {
      entities.add(start(request, i, reports));
    }
    return entities;
  }

  private void stopAll(List<ActorRef> entities) throws Exception {
    for (ActorRef entity : entities) {
      Patterns.gracefulStop(entity, PATIENCE).toCompletableFuture().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }
  }

  static long awaitUp(int entities, BlockingQueue<Object> reports) throws Exception {
    long events = 0;
    for (int i = 0; i < entities; i++) {
      events += await(Up.class, reports).events();
    }
    return events;
  }

  static <T> T await(Class<T> kind, BlockingQueue<Object> reports) throws Exception {
    Object report = reports.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    if (report == null) {
      throw new TimeoutException("an entity did not report");
    }
    if (report instanceof Failed) {
      throw new IllegalStateException(((Failed) report).cause());
    }
    return kind.cast(report);
  }

  static ObjectNode measured(long events, long begin, long cpu) {
    return JsonNodeFactory.instance.objectNode()
        .put("count", events)
        .put("seconds", (System.nanoTime() - begin) / 1e9)
        .put("cpuSeconds", (cpu() - cpu) / 1e9);
  }

  /** Adds percentiles in microseconds. */
  static ObjectNode withPercentiles(ObjectNode answer, List<Long> latencies) {
    latencies.sort(null);
    return answer
        .put("p50", latencies.get(latencies.size() / 2) / 1e3)
        .put("p99", latencies.get(latencies.size() * 99 / 100) / 1e3);
  }

  /** The processor time of this process, in nanoseconds. */
  static long cpu() {
    return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
  }
}
