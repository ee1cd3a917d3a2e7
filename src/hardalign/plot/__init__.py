"""Heat maps of alignments: for the terminal, for notebooks, and as SVG and PNG files."""
