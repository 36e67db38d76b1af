"""The nodes of this package that replace each kind of random node."""
