"""See why: topics, narratives, rankings and documents of results folders, as data and as pages for a browser."""
