"""Whether an exported file draws what its module draws."""
