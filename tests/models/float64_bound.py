"""The error that a result may have: some times that of onnxruntime, each measured against a float64 run of the model.

So the bound follows how well the model is conditioned: if a network divides by the deviation of a few voxels, every
float32 run is far from float64, ours as much as theirs.
"""

from collections.abc import Sequence

import numpy as np

from models.tensor_files import Array

# Winograd's transforms round once more each: about twice a direct sum's error, and networks differ.
MOST_OVER_ONNXRUNTIME = 4.0


def error(results: Sequence[Array], reference: Sequence[Array]) -> float:
    """The largest difference over the largest magnitude, for the output with the most."""
    pairs = zip(results, reference, strict=True)
    return max(float(np.max(np.abs(mine.astype(np.float64) - its)) / np.max(np.abs(its))) for mine, its in pairs)


def allowed_error(theirs: Sequence[Array], reference: Sequence[Array], always: float) -> float:
    """`always` is allowed whatever onnxruntime reaches."""
    return max(MOST_OVER_ONNXRUNTIME * error(theirs, reference), always)
