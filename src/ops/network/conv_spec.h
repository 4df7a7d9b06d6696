// The attributes of Conv, ConvTranspose and the pools, resolved once: auto_pad, output_shape and defaults are gone.
// Shape inference, the definitions and every kernel read this and nothing else.
#pragma once

#include <vector>

#include "ir/expr/expr.h"

namespace onnxc {

class NodeReader;

// One spatial axis.
struct WindowAxis {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  // Zeros before and after the input; may depend on dims (auto_pad) and may be negative (cropping).
  Expr pad_begin, pad_end;
  int64_t output_padding = 0;  // ConvTranspose only
  Expr input;                  // extent of the input
  Expr output;                 // extent of the output

  // The extent that the kernel covers: (kernel - 1) * dilation + 1.
  int64_t span() const { return (kernel - 1) * dilation + 1; }
};

struct ConvSpec {
  bool transposed = false;
  Expr batch;
  Expr input_channels, output_channels;
  int64_t groups = 1;
  std::vector<WindowAxis> axes;  // 1 to 3 spatial axes, outermost first

  Expr input_channels_per_group() const { return floor_div(input_channels, groups); }
  Expr output_channels_per_group() const { return floor_div(output_channels, groups); }
};

// Conv (ONNX 1, 11, 22): X [N, C, spatial...], W [M, C/group, kernel...].
ConvSpec resolve_conv(const NodeReader& node);
// ConvInteger (ONNX 10): X and W as for Conv; inputs 2 and 3 are zero points.
ConvSpec resolve_conv_integer(const NodeReader& node);
// ConvTranspose (ONNX 1, 11, 22): X [N, C, spatial...], W [C, M/group, kernel...].
ConvSpec resolve_conv_transpose(const NodeReader& node);
// MaxPool, AveragePool, LpPool in every version: the window of X [N, C, spatial...]; channels as in X, no groups.
ConvSpec resolve_pool(const NodeReader& node);

}  // namespace onnxc
