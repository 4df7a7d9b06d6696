// Which kernel computes a convolution: one pure function of what is known when the model is compiled.
//
// The model of cost counts, in units of one vector multiply-add at peak rate, what each kernel does for an image: its
// multiply-adds over the share of the peak that they reach, the additions of the transforms, and the bytes of weights
// that are read, once per range of voxels or tiles. The constants are measured (conv_choice.cpp).
#pragma once

#include <optional>

#include "kernels/cpu/kernel_work.h"
#include "kernels/shared/conv_shape.h"
#include "machine/cpu_machine.h"

namespace onnxc {

enum class ConvAlgorithm {
  direct,           // kernels/conv_direct.h
  stem,             // kernels/conv_stem.h: the same on a planar input of few channels
  stem_winograd,    // kernels/conv_stem_winograd.h: the latter with fewer products
  winograd,         // kernels/conv_winograd.h
  planar,           // kernels/conv_planar.h: planar input and output, few channels of both
  planar_winograd,  // kernels/conv_planar_winograd.h: planar input of few channels, planar output, fewer products
};

struct ConvChoice {
  ConvAlgorithm algorithm;
  kernels::Axes tile = {1, 1, 1};  // of Winograd: outputs along each axis

  bool operator==(const ConvChoice&) const = default;
};

// Whether a convolution has so few input channels that its kernel reads a planar tensor.
bool is_stem(const kernels::ConvShape& shape);

// What a kernel costs for one image of `output` voxels. It must support the shape.
double convolution_cost(const ConvChoice& choice, const kernels::ConvShape& shape, const CpuMachine& machine,
                        const kernels::Axes& output);

// The size of the output: known when the model is compiled, or else what it usually is (usual_size.h).
struct ConvOutput {
  kernels::Axes size;
  bool is_known = true;
};

// Weights that are all whole numbers ask for whole results: Winograd's tiles of two divide by powers of two, and stay
// exact on small integers, those of four by three, and do not.
enum class ConvWeights { real, whole };

// The cheapest kernel for the shape. Where the size is a guess, or the packed weights are many, Winograd must win
// clearly: that its weights are two to five times as many is certain, and what it saves is then less so, or little.
ConvChoice choose_convolution(const kernels::ConvShape& shape, const CpuMachine& machine, const ConvOutput& output,
                              ConvWeights weights = ConvWeights::real);

// The cheapest kernel of a stem whose output is wanted in rows, where there is one that beats writing blocks and
// copying them to rows.
std::optional<ConvAlgorithm> choose_planar_convolution(const kernels::ConvShape& shape, const CpuMachine& machine,
                                                       const kernels::Axes& output);

}  // namespace onnxc
