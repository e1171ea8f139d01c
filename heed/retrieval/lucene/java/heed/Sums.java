package heed;

import java.util.Arrays;
import java.util.List;

/**
 * The sums of a query, a block of documents after the other, so that those of a block stay in the processor's cache.
 *
 * <p>A term's postings are in the order of their documents' numbers.
 */
final class Sums {
  static final int BLOCK = 1 << 14; // documents
  private static final int NUMBERS = 4; // of a term, as Bm25 has them

  private final List<Postings> fields;
  private final double[] query;
  private final boolean[] apart;
  private final long[] next; // posting of each term
  private final double[] sums = new double[BLOCK];
  private final double[] ofField = new double[BLOCK];

  Sums(List<Postings> fields, double[] query, boolean[] apart) {
    this.fields = fields;
    this.query = query;
    this.apart = apart;
    next = new long[query.length / NUMBERS];
    for (int term = 0; term < next.length; term++) {
      next[term] = (long) query[NUMBERS * term + 1];
    }
  }

  /** Return the sums of the documents from number {@code first} on, the first that no call before had. */
  double[] next(int first) {
    Arrays.fill(sums, 0);
    for (int term = 0; term < next.length; ) {
      int field = (int) query[NUMBERS * term];
      double[] sums = apart[field] ? ofField : this.sums;
      for (; term < next.length && query[NUMBERS * term] == field; term++) {
        int at = NUMBERS * term;
        long end = (long) query[at + 1] + (long) query[at + 2];
        next[term] = fields.get(field).add(sums, first, next[term], end, (float) query[at + 3]);
      }
      if (apart[field]) {
        for (int i = 0; i < BLOCK; i++) {
          this.sums[i] += (float) ofField[i];
        }
        Arrays.fill(ofField, 0);
      }
    }
    return sums;
  }
}
