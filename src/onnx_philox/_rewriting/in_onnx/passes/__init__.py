"""The passes of a rewrite, each over a whole model; `order` calls them."""
