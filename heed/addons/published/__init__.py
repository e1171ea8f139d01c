"""The figures that the four papers print, as data, and how they stand beside one's own."""
