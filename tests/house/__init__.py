"""The project itself: which room imports which, the package, its pages, its recipes, its tests."""
