// Products of bytes (matmul_int8.h): MatMulInteger with a constant matrix, row-major.
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/matmul/byte_matmul.h"
#include "kernels/cpu/conv_int8/conv_int8_packing.h"
#include "kernels/cpu/matmul_int8/matmul_int8_geometry.h"

namespace onnxc {

void offer_matmul_int8(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  const Node& node = *problem.node;
  std::optional<ByteProduct> product = as_byte_product(node);
  if (!product) return;
  offers.push_back(
      {.kernel = "matmul_int8",
       .reads = LayoutDemand::rows,
       .gives = LayoutDemand::rows,
       .activations = 2,
       .lower = [&node, product = *std::move(product), vectors = machine.vectors](LoweringContext& context) {
         const auto& [depth, columns, matrix] = product;
         const kernels::Int8Packing packing = kernels::byte_matrix_packing(depth, columns, vectors.lanes);
         lower_byte_matmul(node, {"matmul_int8", "kernels/cpu/matmul_int8/matmul_int8.h", "ByteMatrixProduct"},
                           as_tensor(pack_int8_weights(packing.shape, vectors.lanes, 1, matrix)), context);
       }});
}

}  // namespace onnxc
