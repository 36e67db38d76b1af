"""Models whose random nodes become ours, from every exporter."""
