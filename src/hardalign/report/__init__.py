"""What a grid of runs found: tables, significance, findings and pictures. Needs no engine."""
