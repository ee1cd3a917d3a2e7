"""The paper's experiments: plan them, run them on one machine or many, tabulate the results."""
