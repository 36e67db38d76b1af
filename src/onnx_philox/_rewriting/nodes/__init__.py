"""What a rewrite knows of single nodes: which draw, of what type, and what replaces them."""
