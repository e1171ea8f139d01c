"""Reports of results folders: tables as text, plots, one HTML page."""
