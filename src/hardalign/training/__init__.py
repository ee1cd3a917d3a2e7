"""Training: the loop, the model folder, and the one road to a run."""
