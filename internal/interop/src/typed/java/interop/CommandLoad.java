package interop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.AbstractBehavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Adapter;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.Receive;
import org.apache.pekko.pattern.Patterns;
import org.apache.pekko.persistence.typed.PersistenceId;
import org.apache.pekko.persistence.typed.RecoveryCompleted;
import org.apache.pekko.persistence.typed.RecoveryFailed;
import org.apache.pekko.persistence.typed.javadsl.CommandHandler;
import org.apache.pekko.persistence.typed.javadsl.EventHandler;
import org.apache.pekko.persistence.typed.javadsl.EventSourcedBehavior;
import org.apache.pekko.persistence.typed.javadsl.SignalHandler;

/** Work that is measured: commands of event-sourced behaviors. A caller sends the next command after the reply. */
final class CommandLoad {
  private static final int EVENT_BYTES = 512;
  private static final Duration PATIENCE = Duration.ofMinutes(2);

  private final ActorSystem system;

  CommandLoad(ActorSystem system) {
    this.system = system;
  }

  interface Command {}

  /** Persists an event, and replies with how many there are. */
  record Count(ActorRef<Object> replyTo) implements Command {}

  enum Stop implements Command { INSTANCE }

  /** Counts its events. */
  static final class Counter extends EventSourcedBehavior<Command, byte[], Long> {
    private final BlockingQueue<Object> reports;
    private final byte[] payload = new byte[EVENT_BYTES];

    Counter(String pid, BlockingQueue<Object> reports) {
      super(PersistenceId.ofUniqueId(pid));
      this.reports = reports;
      ThreadLocalRandom.current().nextBytes(payload);
    }

    @Override
    public Long emptyState() {
      return 0L;
    }

    @Override
    public CommandHandler<Command, byte[], Long> commandHandler() {
      return newCommandHandlerBuilder().forAnyState()
          .onCommand(Count.class, count -> Effect().persist(payload).thenReply(count.replyTo(), state -> state))
          .onCommand(Stop.class, stop -> Effect().stop())
          .build();
    }

    @Override
    public EventHandler<Long, byte[]> eventHandler() {
      return (state, event) -> state + 1;
    }

    @Override
    public SignalHandler<Long> signalHandler() {
      return newSignalHandlerBuilder()
          .onSignal(RecoveryCompleted.instance(), state -> reports.add(new Load.Up(state.intValue())))
          .onSignal(RecoveryFailed.class, (state, failed) -> reports.add(new Load.Failed(failed.getFailure())))
          .build();
    }
  }

  /** Sends a command after each reply, until the time that it is told. */
  static final class Caller extends AbstractBehavior<Object> {
    private final ActorRef<Command> entity;
    private final BlockingQueue<Object> reports;
    private final List<Long> latencies = new ArrayList<>();
    private long until;
    private long begin;

    Caller(ActorContext<Object> context, ActorRef<Command> entity, BlockingQueue<Object> reports) {
      super(context);
      this.entity = entity;
      this.reports = reports;
    }

    @Override
    public Receive<Object> createReceive() {
      return newReceiveBuilder()
          .onMessage(Load.Run.class, run -> {
            until = run.until();
            return next();
          })
          .onMessage(Long.class, count -> {
            latencies.add(System.nanoTime() - begin);
            return next();
          })
          .build();
    }

    private Behavior<Object> next() {
      begin = System.nanoTime();
      if (begin >= until) {
        reports.add(new Load.Done(latencies));
        return Behaviors.stopped();
      }
      entity.tell(new Count(getContext().getSelf()));
      return this;
    }
  }

  ObjectNode run(JsonNode request) throws Exception {
    BlockingQueue<Object> reports = new LinkedBlockingQueue<>();
    List<ActorRef<Command>> entities = new ArrayList<>();
    for (int i = 0; i < request.path("entities").asInt(); i++) {
      entities.add(Adapter.spawnAnonymous(system, new Counter(request.path("prefix").asText() + "-" + i, reports)));
    }
    Load.awaitUp(entities.size(), reports);
    List<ActorRef<Object>> callers = new ArrayList<>();
    for (ActorRef<Command> entity : entities) {
      for (int i = 0; i < request.path("callers").asInt(); i++) {
        callers.add(Adapter.spawnAnonymous(system, Behaviors.setup(context -> new Caller(context, entity, reports))));
      }
    }
    long cpu = Load.cpu();
    long begin = System.nanoTime();
    Load.Run run = new Load.Run(begin + (long) (request.path("seconds").asDouble() * 1e9));
    callers.forEach(caller -> caller.tell(run));
    List<Long> latencies = new ArrayList<>();
    for (int i = 0; i < callers.size(); i++) {
      latencies.addAll(Load.await(Load.Done.class, reports).latencies());
    }
    ObjectNode answer = Load.measured(latencies.size(), begin, cpu);
    for (ActorRef<Command> entity : entities) {
      Patterns.gracefulStop(Adapter.toClassic(entity), PATIENCE, Stop.INSTANCE)
          .toCompletableFuture()
          .get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }
    return Load.withPercentiles(answer, latencies);
  }
}
