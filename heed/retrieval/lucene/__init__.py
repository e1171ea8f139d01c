"""The one door to Java: Lucene through Anserini's classes."""
