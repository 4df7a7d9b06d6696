// Which kernel computes a convolution: one pure function of what is known when the model is compiled.
//
// The model of cost counts, in units of one vector multiply-add at peak rate, what each kernel does for an image: its
// multiply-adds over the share of the peak that they reach, the additions of the transforms, and the bytes of weights
// that are read, once per range of voxels or tiles. The constants are measured (conv_choice.cpp).
#pragma once

#include <optional>

#include "codegen/cpu/kernels/conv_geometry.h"

namespace onnxc {

enum class ConvAlgorithm {
  direct,    // kernels/conv_direct.h
  stem,      // kernels/conv_stem.h: the same on a planar input of few channels
  winograd,  // kernels/conv_winograd.h
};

// What a kernel costs for one image of `output` voxels. `algorithm` must support the shape.
double convolution_cost(ConvAlgorithm algorithm, const kernels::ConvShape& shape, int lanes,
                        const kernels::Axes& output);

// The cheapest kernel for the shape. Where the output's size is not known when the model is compiled it counts as
// large: no tile is partly empty and weights are read often.
ConvAlgorithm choose_convolution(const kernels::ConvShape& shape, int lanes,
                                 const std::optional<kernels::Axes>& output);

}  // namespace onnxc
