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
  private static final int FREQUENCIES = 256; // below this, their products with every share are kept
  private static final int HEADER = 128; // bytes before the numbers of an array, in NumPy's format 1.0

  private final ByteBuffer[] documents;
  private final ByteBuffer[] frequencies;
  private final int width; // bytes of a frequency
  private final byte[] lengths; // Lucene's byte for the length of each document
  private final float[] products = new float[FREQUENCIES << 8]; // of a frequency and the share of a length

  /** Map the arrays whose files begin with {@code prefix}; {@code average} is the mean length of a document. */
  public Postings(String prefix, float k1, float b, float average) throws IOException {
    documents = map(prefix + ".documents.npy", Integer.BYTES);
    long size = Files.size(Paths.get(prefix + ".documents.npy")) - HEADER;
    width = (int) (Integer.BYTES * (Files.size(Paths.get(prefix + ".frequencies.npy")) - HEADER) / size);
    frequencies = map(prefix + ".frequencies.npy", width);
    lengths = bytes(prefix + ".lengths.npy");
    for (int i = 0; i < products.length; i++) {
      products[i] = (i >> 8) * (1f / (k1 * ((1f - b) + b * SmallFloat.byte4ToInt((byte) i) / average)));
    }
  }

  /**
   * Add the score of a term to the sum of each document of a block that has it; return the first posting behind those.
   *
   * <p>A term of weight w in a document where its frequency is f adds {@code w − w / (1 + f · share)}, all in single
   * precision, as Lucene's BM25Similarity has it; a share is {@code 1 / (k1 · (1 − b + b · length / average))}. To make
   * a float of each frequency would take longer than all the rest.
   *
   * @param sums those of the documents from number {@code document} on
   * @param start the first posting that is not of a document before those; the term's last one is before {@code end}
   */
  long add(double[] sums, int document, long start, long end, float weight) {
    for (long at = start, edge; at < end; at = edge) {
      edge = Math.min(end, ((at >> PART) + 1) << PART);
      int part = (int) (at >> PART);
      int from = (int) (at & (1 << PART) - 1);
      int to = from + (int) (edge - at);
      int reached = add(sums, document, documents[part], frequencies[part], from, to, weight);
      if (reached < to) {
        return at + reached - from;
      }
    }
    return end;
  }

  private int add(
      double[] sums, int first, ByteBuffer documents, ByteBuffer frequencies, int from, int to, float weight) {
    byte[] lengths = this.lengths;
    float[] products = this.products;
    int width = this.width;
    for (int i = from; i < to; i++) {
      int document = documents.getInt(Integer.BYTES * i);
      if (document >= first + sums.length) {
        return i;
      }
      int length = lengths[document] & 0xff;
      int frequency = width == 1 ? frequencies.get(i) & 0xff
          : width == 2 ? frequencies.getShort(2 * i) & 0xffff : frequencies.getInt(4 * i);
      float product = frequency < FREQUENCIES ? products[frequency << 8 | length] : frequency * products[1 << 8 | length];
      sums[document - first] += weight - weight / (1f + product);
    }
    return to;
  }

  /** Return the numbers of an array, as they lie in its file. */
  static byte[] bytes(String path) throws IOException {
    byte[] file = Files.readAllBytes(Paths.get(path));
    return Arrays.copyOfRange(file, HEADER, file.length);
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
