"""Models with a state for each row: a row's draws depend on its state alone, or are refused."""
