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
    byte[] file = Files.readAllBytes(Paths.get(prefix + ".lengths.npy"));
    lengths = Arrays.copyOfRange(file, HEADER, file.length);
    for (int i = 0; i < products.length; i++) {
      products[i] = (i >> 8) * (1f / (k1 * ((1f - b) + b * SmallFloat.byte4ToInt((byte) i) / average)));
    }
  }

  /**
   * Add the score of a term to the sum of each document that has it.
   *
   * <p>A term of weight w in a document where its frequency is f adds {@code w − w / (1 + f · share)}, all in single
   * precision, as Lucene's BM25Similarity has it; a share is {@code 1 / (k1 · (1 − b + b · length / average))}. To make
   * a float of each frequency would take longer than all the rest.
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
    float[] products = this.products;
    int width = this.width;
    for (int i = first; i < end; i++) {
      int document = documents.getInt(Integer.BYTES * i);
      int length = lengths[document] & 0xff;
      int frequency = width == 1 ? frequencies.get(i) & 0xff
          : width == 2 ? frequencies.getShort(2 * i) & 0xffff : frequencies.getInt(4 * i);
      float product = frequency < FREQUENCIES ? products[frequency << 8 | length] : frequency * products[1 << 8 | length];
      sums[document] += weight - weight / (1f + product);
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
