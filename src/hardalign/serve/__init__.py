"""The page and its JSON API; needs the extra serve."""
