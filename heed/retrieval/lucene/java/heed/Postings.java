package heed;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
import org.apache.lucene.util.SmallFloat;

/** The postings of a field with one choice of k1 and b, over the arrays of postings.py, memory-mapped. */
public final class Postings {
  private static final int PART = 28; // 2 to the power of this are the postings of a buffer, which ends at 2 GiB
  private static final int HEADER = 128; // bytes before the numbers of an array, in NumPy's format 1.0

  private final ByteBuffer[] documents;
  private final ByteBuffer[] frequencies;
  private final int width; // bytes of a frequency
  private final byte[] lengths; // Lucene's byte for the length of each document
  private final float[] shares = new float[256]; // of a length: 1 / (k1 · (1 − b + b · length / average))

  /** Map the arrays whose files begin with {@code prefix}; {@code average} is the mean length of a document. */
  public Postings(String prefix, float k1, float b, float average) throws IOException {
    documents = map(prefix + ".documents.npy", Integer.BYTES);
    long size = Files.size(Paths.get(prefix + ".documents.npy")) - HEADER;
    width = (int) (Integer.BYTES * (Files.size(Paths.get(prefix + ".frequencies.npy")) - HEADER) / size);
    frequencies = map(prefix + ".frequencies.npy", width);
    byte[] file = Files.readAllBytes(Paths.get(prefix + ".lengths.npy"));
    lengths = Arrays.copyOfRange(file, HEADER, file.length);
    for (int i = 0; i < shares.length; i++) {
      shares[i] = 1f / (k1 * ((1f - b) + b * SmallFloat.byte4ToInt((byte) i) / average));
    }
  }

  /**
   * Add the score of a term to the sum of each document that has it.
   *
   * <p>A term of weight w in a document where its frequency is f adds {@code w − w / (1 + f · share)}, all in single
   * precision, as Lucene's BM25Similarity has it.
   */
  void add(double[] sums, long start, int count, float weight) {
    for (long at = start, end; at < start + count; at = end) {
      end = Math.min(start + count, ((at >> PART) + 1) << PART);
      int first = (int) (at & (1 << PART) - 1);
      add(sums, documents[(int) (at >> PART)], frequencies[(int) (at >> PART)], first, first + (int) (end - at), weight);
    }
  }

  private void add(double[] sums, ByteBuffer documents, ByteBuffer frequencies, int first, int end, float weight) {
    byte[] lengths = this.lengths;
    float[] shares = this.shares;
    if (width == 1) {
      for (int i = first; i < end; i++) {
        int document = documents.getInt(Integer.BYTES * i);
        sums[document] += weight - weight / (1f + (frequencies.get(i) & 0xff) * shares[lengths[document] & 0xff]);
      }
    } else {
      for (int i = first; i < end; i++) {
        int document = documents.getInt(Integer.BYTES * i);
        int frequency = width == 2 ? frequencies.getShort(2 * i) & 0xffff : frequencies.getInt(4 * i);
        sums[document] += weight - weight / (1f + frequency * shares[lengths[document] & 0xff]);
      }
    }
  }

  private static ByteBuffer[] map(String path, int width) throws IOException {
    try (FileChannel file = FileChannel.open(Paths.get(path))) {
      long most = (long) width << PART;
      ByteBuffer[] parts = new ByteBuffer[(int) ((file.size() - HEADER + most - 1) / most)];
      for (int i = 0; i < parts.length; i++) {
        long at = HEADER + i * most;
        ByteBuffer part = file.map(FileChannel.MapMode.READ_ONLY, at, Math.min(most, file.size() - at));
        parts[i] = part.order(ByteOrder.LITTLE_ENDIAN);
      }
      return parts;
    }
  }
}
