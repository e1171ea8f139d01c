"""From runs and judgements to figures, pairwise and per topic."""
