"""The passes of a rewrite, over a whole model each."""
