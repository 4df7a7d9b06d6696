"""`python -m tools.gpu_check bundle ...` makes a bundle; without that word the check runs (check.py)."""

import sys
from collections.abc import Sequence


def main(words: Sequence[str]) -> int:
    if words[:1] == ["bundle"]:
        from tools.gpu_check import bundle  # which needs what only a clone has

        return bundle.main(words[1:])
    try:
        import onnxc  # noqa: F401, since the check says early what the machine lacks
        from tools.gpu_check import check
    except ImportError as error:
        print(f"error: {error}; the check needs numpy, ml_dtypes and PyTorch with CUDA or ROCm", file=sys.stderr)
        return 1
    return check.main(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
