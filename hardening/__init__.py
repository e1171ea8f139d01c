"""What Heed is put through: ``python -m hardening.faults`` and ``python -m hardening.fuzz``."""
