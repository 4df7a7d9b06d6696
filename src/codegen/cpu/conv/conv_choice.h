// Which kernel computes a convolution: one pure function of what is known at compile time.
//
// The cost model counts, for one image and in vector multiply-adds at the peak rate, what each kernel does: its
// multiply-adds divided by its efficiency (fraction of the peak), the additions of the transforms, and the bytes of
// weights, read once per range of voxels or tiles. The constants are measured (conv_choice.cpp).
#pragma once

#include <optional>

#include "kernels/cpu/kernel_work.h"
#include "kernels/shared/conv_shape.h"
#include "machine/cpu_machine.h"

namespace onnxc {

enum class ConvAlgorithm {
  direct,           // conv_direct.h: NCHWc to NCHWc
  stem,             // conv_stem.h: the same from NCHW with few channels
  stem_winograd,    // conv_stem_winograd.h: the stem with fewer products
  winograd,         // conv_winograd.h: NCHWc to NCHWc
  planar,           // conv_planar.h: NCHW to NCHW, few channels on both sides
  planar_winograd,  // conv_planar_winograd.h: NCHW with few channels to NCHW, fewer products
};

struct ConvChoice {
  ConvAlgorithm algorithm;
  kernels::Axes tile = {1, 1, 1};  // of Winograd: outputs along each axis

  bool operator==(const ConvChoice&) const = default;
};

// Whether a convolution has so few input channels that its kernel reads NCHW.
bool is_stem(const kernels::ConvShape& shape);

// The cost of a kernel for one image of `output` voxels. The kernel must support the shape.
double convolution_cost(const ConvChoice& choice, const kernels::ConvShape& shape, const CpuMachine& machine,
                        const kernels::Axes& output);

// The output's size: static, or else its size hint (usual_size.h).
struct ConvOutput {
  kernels::Axes size;
  bool is_known = true;
};

// Weights that are all integers require exact integer results. Winograd's tiles of two divide by powers of two and stay
// exact on small integers; tiles of four divide by three and do not.
enum class ConvWeights { real, whole };

// The cheapest kernel for the shape. Where the size is a hint, or the packed weights are many, Winograd must win
// clearly: its weights are certainly two to five times as many, and its gain is uncertain or small.
ConvChoice choose_convolution(const kernels::ConvShape& shape, const CpuMachine& machine, const ConvOutput& output,
                              ConvWeights weights = ConvWeights::real);

// The cheapest kernel of a stem whose output is wanted in NCHW, where one beats writing NCHWc and reordering it.
std::optional<ConvAlgorithm> choose_planar_convolution(const kernels::ConvShape& shape, const CpuMachine& machine,
                                                       const kernels::Axes& output);

}  // namespace onnxc
