"""python -m onnxc.nnunet FOLDER -o OUTPUT: the folds of a folder that nnU-Net's training wrote, as OUTPUT/foldN.so."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from onnxc.errors import OnnxcError
from onnxc.nnunet import trained_folder


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m onnxc.nnunet", description=__doc__)
    parser.add_argument("folder", type=Path, help="such as nnUNet_results/.../nnUNetTrainer__nnUNetPlans__3d_fullres")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the folder to write the models into")
    parser.add_argument("--folds", nargs="+", help="such as 0 1 all; by default each numbered fold that is there")
    parser.add_argument("--checkpoint", default="checkpoint_final.pth", help="the file name (default: %(default)s)")
    given = parser.parse_args(words)
    try:
        for checkpoint in trained_folder.checkpoints(given.folder, given.folds, given.checkpoint):
            model = given.output / f"{checkpoint.parent.name.replace('_', '')}.so"
            fold = trained_folder.compile_fold(given.folder, checkpoint, model)
            window = "x".join(map(str, fold.patch_size))
            mirror = "".join(f" --mirror {','.join(map(str, axes))}" for axes in [fold.allowed_mirroring_axes] if axes)
            print(f"{model}: onnxc-run {model} --volume SCAN --preset nnunet --window {window}{mirror}")
    except OnnxcError as error:
        print(f"onnxc.nnunet: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
