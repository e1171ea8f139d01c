"""What every step stands on: errors, files that are finished or not there, the one order, progress."""
