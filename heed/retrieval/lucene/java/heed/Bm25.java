package heed;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * BM25 of queries, a term at a time: a term's score is of single precision, the sum over the terms of double.
 *
 * <p>A query is four numbers for each term: its field, its first posting, how many it has, its weight times its idf. The
 * terms of a field are together.
 */
public final class Bm25 {
  private final int[] places; // of each document, by number, in the order of docids, which is that of ties
  private final List<Postings> fields;

  /** Search {@code fields}; the array in the file {@code numbers} has each document's number, in the order of docids. */
  public Bm25(String numbers, List<Postings> fields) throws IOException {
    this.fields = fields;
    IntBuffer ordered = ByteBuffer.wrap(Postings.bytes(numbers)).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer();
    places = new int[ordered.limit()];
    for (int place = 0; place < places.length; place++) {
      places[ordered.get(place)] = place;
    }
  }

  /**
   * Return the best documents of each query in three arrays: their places in the order of docids, of 4 bytes; their
   * scores, of 4; their scores in Anserini's run files, of 8.
   *
   * @param queries the queries, one after the other
   * @param ends how many numbers each query ends after
   * @param apart of each field, whether its sum is rounded before it is added, as Lucene does where a field has a weight
   */
  public byte[][] search(double[] queries, int[] ends, boolean[] apart, int depth, int threads) throws Exception {
    List<Callable<byte[][]>> tasks = new ArrayList<>();
    int start = 0;
    for (int end : ends) {
      double[] query = Arrays.copyOfRange(queries, start, end);
      tasks.add(() -> best(query, apart, depth));
      start = end;
    }
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    try {
      List<byte[]> arrays = new ArrayList<>();
      for (Future<byte[][]> found : pool.invokeAll(tasks)) {
        Collections.addAll(arrays, found.get());
      }
      return arrays.toArray(new byte[0][]);
    } finally {
      pool.shutdown();
    }
  }

  /** Return the scores of chosen documents; 0 for the number -1. */
  public float[] scores(double[] query, int[] documents) {
    float[] scores = new float[documents.length];
    Sums sums = new Sums(fields, query, new boolean[fields.size()]);
    for (int first = 0; first < places.length; first += Sums.BLOCK) {
      double[] ofBlock = sums.next(first);
      for (int i = 0; i < documents.length; i++) {
        if (first <= documents[i] && documents[i] < first + Sums.BLOCK) {
          scores[i] = (float) ofBlock[documents[i] - first];
        }
      }
    }
    return scores;
  }

  private byte[][] best(double[] query, boolean[] apart, int depth) {
    long[] keys = new long[2 * Math.min(depth, places.length) + 1024]; // of documents: score and place, the best first
    int count = 0;
    float least = Float.MIN_VALUE; // of the scores that are among the best so far
    double below = 0; // the number of single precision before it
    Sums sums = new Sums(fields, query, apart);
    for (int first = 0; first < places.length; first += Sums.BLOCK) {
      double[] ofBlock = sums.next(first);
      for (int i = 0; i < Sums.BLOCK; i++) {
        if (ofBlock[i] > below && (float) ofBlock[i] >= least) {
          if (count == keys.length) {
            select(keys, count, depth - 1);
            count = depth;
            least = score(keys[depth - 1]);
            below = Math.nextDown(least);
          }
          keys[count++] = (long) ~Float.floatToIntBits((float) ofBlock[i]) << 32 | places[first + i];
        }
      }
    }
    if (count > depth) {
      select(keys, count, depth - 1);
      count = depth;
    }
    Arrays.sort(keys, 0, count);
    return asArrays(Arrays.copyOf(keys, count));
  }

  /** Bring the key that is number {@code place} in their order there, smaller ones before it (Hoare's quickselect). */
  private static void select(long[] keys, int count, int place) {
    int low = 0;
    int high = count - 1;
    while (low < high) {
      long pivot = keys[(low + high) >>> 1];
      int left = low;
      int right = high;
      while (left <= right) {
        while (keys[left] < pivot) left++;
        while (keys[right] > pivot) right--;
        if (left <= right) {
          long key = keys[left];
          keys[left++] = keys[right];
          keys[right--] = key;
        }
      }
      low = place >= left ? left : low;
      high = place <= right ? right : place >= left ? high : low;
    }
  }

  private static float score(long key) {
    return Float.intBitsToFloat(~(int) (key >> 32));
  }

  private static byte[][] asArrays(long[] keys) {
    ByteBuffer documents = ByteBuffer.allocate(Integer.BYTES * keys.length);
    ByteBuffer scores = ByteBuffer.allocate(Float.BYTES * keys.length);
    ByteBuffer inRuns = ByteBuffer.allocate(Double.BYTES * keys.length);
    float last = Float.POSITIVE_INFINITY;
    int ties = 0;
    for (long key : keys) {
      documents.putInt((int) key);
      scores.putFloat(score(key));
      // as ScoreTiesAdjusterReranker and %f leave it, all in single precision: above 16 or so, 1e-6 can be lost
      float rounded = (float) (Math.floor(score(key) * 1e4 + 0.5) / 1e4);
      ties = last - rounded > 1e-4f ? 0 : ties + 1;
      last = rounded - 1e-6f * ties;
      inRuns.putDouble(Math.rint(last * 1e6) / 1e6);
    }
    return new byte[][] {documents.array(), scores.array(), inRuns.array()};
  }
}
