// MatMulInteger with a constant matrix, as the CPU's kernels for it are called.
#pragma once

#include <optional>

#include "codegen/call/kernel_call.h"

namespace onnxc {

// A product of bytes as kernels are asked for offers.
struct ByteProduct {
  int64_t depth, columns;
  std::vector<int8_t> matrix;  // [columns, depth], less its zero point
};
// Nothing if the node is not a product of bytes, its matrix or that one's zero point is computed, a difference does not
// fit in int8, or the left matrix has several zero points or fewer than two axes.
std::optional<ByteProduct> as_byte_product(const Node& node);

// A class template over <type of a, output type, epilogue> and further arguments of the kernel.
struct ByteMatmulTemplate {
  std::string title;           // in reports: "matmul_int8"
  std::string header;          // as it is included
  std::string type;            // "ByteMatrixProduct"
  std::string arguments = {};  // further template arguments, each after a comma
  bool uses_tiles = false;     // AMX
};

// Adds the call. Its sums are int32 of (a - zero point) * matrix, its Arguments as matmul_int8.h has them.
void lower_byte_matmul(const Node& node, ByteMatmulTemplate chosen, Tensor packed, LoweringContext& context);

}  // namespace onnxc
