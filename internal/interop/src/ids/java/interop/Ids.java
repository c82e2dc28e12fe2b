package interop;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.persistence.dynamodb.query.javadsl.DynamoDBReadJournal;
import org.apache.pekko.persistence.query.PersistenceQuery;
import org.apache.pekko.stream.SystemMaterializer;
import org.apache.pekko.stream.javadsl.Sink;
import org.apache.pekko.stream.javadsl.Source;
import scala.jdk.javaapi.CollectionConverters;

/** Lists persistence ids by the plug-in's read journal. */
final class Ids {
  private Ids() {}

  /** All persistence ids, by a scan or by the index. */
  static List<String> list(ActorSystem system, String by, Duration patience) throws Exception {
    DynamoDBReadJournal reads = PersistenceQuery.get(system).getReadJournalFor(DynamoDBReadJournal.class, "dynamodb-read-journal");
    Source<String, ?> ids = by.equals("scan")
        ? reads.currentPersistenceIdsByPageScan().mapConcat(CollectionConverters::asJava)
        : reads.currentPersistenceIds();
    return ids.runWith(Sink.seq(), SystemMaterializer.get(system).materializer()).toCompletableFuture().get(patience.toSeconds(), TimeUnit.SECONDS);
  }
}
