"""The house itself: its plan, its package, its pages and recipes, and what its tests notice."""
