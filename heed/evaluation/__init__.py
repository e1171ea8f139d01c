"""Evaluation: from runs and judgements to figures, intervals and significance tests."""
