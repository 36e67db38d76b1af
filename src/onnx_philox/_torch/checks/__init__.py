"""Checks that an exported file draws what its module draws."""
