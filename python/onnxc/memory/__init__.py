"""Tensors of other libraries, on the host and on a GPU."""
