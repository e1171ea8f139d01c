package heed;

import java.io.IOException;
import java.nio.file.Paths;
import java.util.List;
import org.apache.lucene.document.BinaryDocValuesField;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.FieldType;
import org.apache.lucene.document.StringField;
import org.apache.lucene.index.IndexOptions;
import org.apache.lucene.index.IndexReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.MultiBits;
import org.apache.lucene.index.MultiDocValues;
import org.apache.lucene.index.MultiTerms;
import org.apache.lucene.index.NumericDocValues;
import org.apache.lucene.index.PostingsEnum;
import org.apache.lucene.index.Term;
import org.apache.lucene.index.Terms;
import org.apache.lucene.index.TermsEnum;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.FSDirectory;
import org.apache.lucene.store.IOContext;
import org.apache.lucene.store.IndexOutput;
import org.apache.lucene.util.Bits;
import org.apache.lucene.util.BytesRef;
import org.apache.lucene.util.FixedBitSet;

/**
 * Loops over millions of postings and documents, for which a call from Python each would take too long.
 *
 * <p>{@code make java} compiles the classes of this folder, which jvm.py loads.
 */
public final class Bulk {
  private Bulk() {}

  /**
   * Write the terms and postings of a field into {@code folder}, without documents that were removed from the index;
   * return how many terms the documents have, repeats included, and the largest frequency.
   *
   * <p>{@code NAME.sizes} gets the length in bytes and the number of documents of each term, {@code NAME.texts} those
   * bytes, {@code NAME.pairs} a document's number and the term's frequency in it. Numbers are of 32 bits,
   * little-endian. Nothing is written where no document has the field.
   */
  public static long[] writePostings(IndexReader reader, String field, String folder, String name)
      throws IOException {
    long[] counts = new long[2];
    Terms terms = MultiTerms.getTerms(reader, field);
    if (terms == null) {
      return counts;
    }
    Bits live = reader.hasDeletions() // copied: an index's own bits look for a document's segment each time
        ? FixedBitSet.copyOf(MultiBits.getLiveDocs(reader)) : new Bits.MatchAllBits(reader.maxDoc());
    try (Directory directory = FSDirectory.open(Paths.get(folder));
        IndexOutput sizes = directory.createOutput(name + ".sizes", IOContext.DEFAULT);
        IndexOutput texts = directory.createOutput(name + ".texts", IOContext.DEFAULT);
        IndexOutput pairs = directory.createOutput(name + ".pairs", IOContext.DEFAULT)) {
      TermsEnum each = terms.iterator();
      PostingsEnum postings = null; // used again for the next term: a new one for each takes half of the time
      for (BytesRef term = each.next(); term != null; term = each.next()) {
        postings = each.postings(postings, PostingsEnum.FREQS);
        int documents = 0;
        for (int left = each.docFreq(); left > 0; left--) {
          int document = postings.nextDoc();
          if (live.get(document)) {
            int frequency = postings.freq();
            pairs.writeInt(document);
            pairs.writeInt(frequency);
            counts[0] += frequency;
            counts[1] = Math.max(counts[1], frequency);
            documents++;
          }
        }
        if (documents > 0) {
          sizes.writeInt(term.length);
          sizes.writeInt(documents);
          texts.writeBytes(term.bytes, term.offset, term.length);
        }
      }
    }
    return counts;
  }

  /** Write Lucene's one byte for the length of a field in each of {@code count} documents; 0 where there is none. */
  public static void writeNorms(IndexReader reader, String field, String folder, String name, int count)
      throws IOException {
    NumericDocValues norms = MultiDocValues.getNormValues(reader, field);
    try (Directory directory = FSDirectory.open(Paths.get(folder));
        IndexOutput output = directory.createOutput(name, IOContext.DEFAULT)) {
      for (int i = 0; i < count; i++) {
        output.writeByte(norms.advanceExact(i) ? (byte) norms.longValue() : 0);
      }
    }
  }

  /**
   * Add documents as Anserini's DefaultLuceneDocumentGenerator makes them, without fields that have no text.
   *
   * @param texts the id of a document and its text of each of {@code fields}, then those of the next document
   */
  public static void addDocuments(IndexWriter writer, List<String> fields, List<String> texts)
      throws IOException {
    FieldType type = new FieldType();
    type.setIndexOptions(IndexOptions.DOCS_AND_FREQS);
    for (int i = 0; i < texts.size(); i += 1 + fields.size()) {
      String id = texts.get(i);
      Document document = new Document();
      document.add(new StringField("id", id, Field.Store.YES));
      document.add(new BinaryDocValuesField("id", new BytesRef(id)));
      for (int j = 0; j < fields.size(); j++) {
        String text = texts.get(i + 1 + j);
        if (!text.isEmpty()) {
          document.add(new Field(fields.get(j), text, type));
        }
      }
      writer.addDocument(document);
    }
  }

  /** Remove documents by their ids, and add those of another index. */
  public static void replaceDocuments(IndexWriter writer, List<String> ids, Directory added) throws IOException {
    for (String id : ids) {
      writer.deleteDocuments(new Term("id", id));
    }
    writer.addIndexes(added);
  }
}
