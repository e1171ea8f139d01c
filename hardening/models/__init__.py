"""Model folders with odd settings, scored by Heed and by the libraries: ``python -m hardening.models``."""
