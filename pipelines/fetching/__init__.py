"""What can be downloaded, and how it is."""
