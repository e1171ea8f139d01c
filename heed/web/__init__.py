"""What the servers of pages for a browser share: who is let in, a socket on this machine alone, answers in JSON."""
