"""The web page and its JSON API; requires the extra ``serve``."""
