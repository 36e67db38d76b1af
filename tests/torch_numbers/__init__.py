"""torch's numbers, with torch as the oracle (`-m engines`) and without it."""
