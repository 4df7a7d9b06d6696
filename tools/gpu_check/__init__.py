"""Checks and times compiled models on a GPU beside PyTorch, from a bundle that needs no build there."""
