"""A folder as nnU-Net's training leaves it, of a small network with random weights."""

import json
from pathlib import Path
from typing import Any

import torch
from dynamic_network_architectures.architectures.unet import PlainConvUNet

ARCHITECTURE: dict[str, Any] = {
    "n_stages": 3,
    "features_per_stage": [4, 8, 8],
    "conv_op": "torch.nn.modules.conv.Conv3d",
    "kernel_sizes": [[3, 3, 3]] * 3,
    "strides": [[1, 1, 1], [2, 2, 2], [2, 2, 1]],
    "n_conv_per_stage": [1, 1, 1],
    "n_conv_per_stage_decoder": [1, 1],
    "conv_bias": True,
    "norm_op": "torch.nn.modules.instancenorm.InstanceNorm3d",
    "norm_op_kwargs": {"eps": 1e-05, "affine": True},
    "dropout_op": None,
    "dropout_op_kwargs": None,
    "nonlin": "torch.nn.LeakyReLU",
    "nonlin_kwargs": {"inplace": True},
}


def write_trained_folder(folder: Path, folds: int, patch_size: tuple[int, ...]) -> list[torch.nn.Module]:
    """The folds' networks, of 2 channels and 3 classes; fold 0 allows mirroring of axes 0 and 2."""
    architecture = {
        "network_class_name": "dynamic_network_architectures.architectures.unet.PlainConvUNet",
        "arch_kwargs": ARCHITECTURE,
        "_kw_requires_import": ["conv_op", "norm_op", "dropout_op", "nonlin"],
    }
    configurations = {
        "3d_fullres": {"patch_size": [1, 1, 1], "architecture": architecture},
        "3d_small": {"inherits_from": "3d_fullres", "patch_size": list(patch_size)},
    }
    folder.mkdir()
    (folder / "plans.json").write_text(json.dumps({"configurations": configurations}))
    labels = {"background": 0, "liver": 1, "tumour": 2, "ignore": 3}
    (folder / "dataset.json").write_text(json.dumps({"channel_names": {"0": "CT", "1": "PET"}, "labels": labels}))
    networks = []
    for fold in range(folds):
        torch.manual_seed(fold)
        network = PlainConvUNet(
            input_channels=2,
            num_classes=3,
            deep_supervision=False,
            **{
                **ARCHITECTURE,
                "conv_op": torch.nn.Conv3d,
                "norm_op": torch.nn.InstanceNorm3d,
                "nonlin": torch.nn.LeakyReLU,
            },
        ).eval()
        checkpoint = {
            "network_weights": network.state_dict(),
            "init_args": {"configuration": "3d_small", "fold": fold},
            "trainer_name": "nnUNetTrainer",
            "inference_allowed_mirroring_axes": (0, 2),
        }
        (folder / f"fold_{fold}").mkdir()
        torch.save(checkpoint, folder / f"fold_{fold}" / "checkpoint_final.pth")
        networks.append(network)
    return networks
