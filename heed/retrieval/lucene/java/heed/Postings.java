package heed;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
import org.apache.lucene.util.SmallFloat;

/** The postings of a field with one choice of k1 and b, over the arrays that postings.py wrote, memory-mapped. */
public final class Postings {
  private static final int PART = 28; // 2 to the power of this are the postings of a buffer, which ends at 2 GiB
  private static final int BLOCK = 1 << 12; // postings read at once
  private static final int WIDTH = 23; // where a file of NumPy's format 1.0 has the bytes of a number, as a digit
  private static final int HEADER = 8; // where it has the length of its header, which begins two bytes later

  private final ByteBuffer[] documents;
  private final ByteBuffer[] frequencies;
  private final int width; // bytes of a frequency
  private final byte[] lengths; // Lucene's byte for the length of each document
  private final float[] shares = new float[256]; // of a length: 1 / (k1 · (1 − b + b · length / average))

  /** Map the arrays whose files begin with {@code prefix}; {@code average} is the mean length of a document. */
  public Postings(String prefix, float k1, float b, float average) throws IOException {
    documents = map(prefix + ".documents.npy");
    frequencies = map(prefix + ".frequencies.npy");
    width = (int) ((long) Integer.BYTES * frequencies[0].limit() / documents[0].limit());
    byte[] file = Files.readAllBytes(Paths.get(prefix + ".lengths.npy"));
    lengths = Arrays.copyOfRange(file, begin(ByteBuffer.wrap(file)), file.length);
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
    int[] numbers = new int[Math.min(BLOCK, count)];
    byte[] bytes = new byte[width * numbers.length];
    for (long at = start; at < start + count; at += BLOCK) {
      int size = (int) Math.min(BLOCK, start + count - at);
      for (int done = 0, next; done < size; done = next) { // a block can be in two parts
        int part = (int) (at + done >> PART);
        int first = (int) (at + done & (1 << PART) - 1);
        next = Math.min(size, done + (1 << PART) - first);
        documents[part].asIntBuffer().get(first, numbers, done, next - done);
        frequencies[part].get(width * first, bytes, width * done, width * (next - done));
      }
      add(sums, numbers, bytes, size, weight);
    }
  }

  private void add(double[] sums, int[] numbers, byte[] bytes, int size, float weight) {
    float[] scores = new float[size];
    for (int i = 0; i < size; i++) {
      int frequency = width == 1 ? bytes[i] & 0xff : wide(bytes, width * i);
      scores[i] = frequency * shares[lengths[numbers[i]] & 0xff];
    }
    for (int i = 0; i < size; i++) { // alone, so that it is compiled to vector instructions
      scores[i] = weight - weight / (1f + scores[i]);
    }
    for (int i = 0; i < size; i++) {
      sums[numbers[i]] += scores[i];
    }
  }

  private int wide(byte[] bytes, int place) {
    int number = 0;
    for (int i = width - 1; i >= 0; i--) {
      number = number << 8 | bytes[place + i] & 0xff;
    }
    return number;
  }

  private static ByteBuffer[] map(String path) throws IOException {
    try (FileChannel file = FileChannel.open(Paths.get(path))) {
      ByteBuffer head = file.map(FileChannel.MapMode.READ_ONLY, 0, WIDTH + 1);
      long begin = begin(head);
      long length = (long) (head.get(WIDTH) - '0') << PART;
      ByteBuffer[] parts = new ByteBuffer[(int) ((file.size() - begin + length - 1) / length)];
      for (int i = 0; i < parts.length; i++) {
        long at = begin + i * length;
        ByteBuffer part = file.map(FileChannel.MapMode.READ_ONLY, at, Math.min(length, file.size() - at));
        parts[i] = part.order(ByteOrder.LITTLE_ENDIAN);
      }
      return parts;
    }
  }

  private static int begin(ByteBuffer file) {
    return HEADER + 2 + file.order(ByteOrder.LITTLE_ENDIAN).getShort(HEADER);
  }
}
