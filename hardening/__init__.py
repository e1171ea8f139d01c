"""What Heed is put through: ``python -m hardening.faults``, ``hardening.fuzz``, ``hardening.models`` and others."""
