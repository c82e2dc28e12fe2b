package interop;

import org.apache.pekko.persistence.journal.EventAdapter;
import org.apache.pekko.persistence.journal.EventSeq;

/** Stores a remark as its text, with a manifest that tells it from other strings. */
public final class RemarkAdapter implements EventAdapter {
  private static final String MANIFEST = "remark";

  @Override
  public String manifest(Object event) {
    return event instanceof Values.Remark ? MANIFEST : "";
  }

  @Override
  public Object toJournal(Object event) {
    return event instanceof Values.Remark ? ((Values.Remark) event).text : event;
  }

  @Override
  public EventSeq fromJournal(Object stored, String manifest) {
    if (!manifest.equals(MANIFEST)) {
      return EventSeq.single(stored);
    }
    Values.Remark remark = new Values.Remark();
    remark.text = (String) stored;
    return EventSeq.single(remark);
  }
}
