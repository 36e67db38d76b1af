"""Files that are broken, made to mislead, or written while something fails."""
