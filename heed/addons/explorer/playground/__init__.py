"""The explorer of results folders as a server: whole runs, searches, systems kept loaded to be asked changed topics."""
