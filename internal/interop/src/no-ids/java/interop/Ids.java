package interop;

import java.time.Duration;
import java.util.List;
import org.apache.pekko.actor.ActorSystem;

/** Is for a plug-in without a read journal, which lists no persistence ids. */
final class Ids {
  private Ids() {}

  static List<String> list(ActorSystem system, String by, Duration patience) {
    throw new UnsupportedOperationException("this version of the plug-in lists no persistence ids");
  }
}
