// Products of four warps on the host (wgmma), to the bit: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions".
//
// A product is made when its group is waited for, and its sums are NaN until then, so that a kernel which does not wait
// shows. Operands in shared memory must be the same when it starts and when it is made. The process ends with a message
// if they are not, if copies to shared memory were not shown to the matrix unit before (fence.proxy.async), or if a
// group begins without wgmma.fence.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "matrix.h"

namespace onnxc::host_blocks {

// A lane's sums of 64 rows and 8 * `count` columns: [count][4], as the instruction has them in registers.
struct WarpgroupSums {
  float* first;
  int count;
};

// The products of one thread, which has part in those of its warpgroup.
class WarpgroupProducts {
 public:
  void begin_group();
  // Both operands are matrices in shared memory by their descriptors; or the rows are in registers.
  void start(MatrixType type, WarpgroupSums sums, uint64_t rows, uint64_t factors);
  void start(MatrixType type, WarpgroupSums sums, const uint32_t (&rows)[4], uint64_t factors);
  void end_group();
  // At most `left` groups are still to come.
  void wait(size_t left);
  void clear();

 private:
  using Row = std::array<uint32_t, operand_words>;
  struct Product {
    MatrixType type;
    WarpgroupSums sums;
    bool has_rows_in_registers;
    uint64_t rows_descriptor, factors_descriptor;
    // A lane's operands when the product started: two rows, and two columns of each 8.
    std::vector<Row> rows, factors;
  };
  // Sums whose products are under way: their real values, and how many products there are.
  struct UnderWay {
    std::vector<float> values;
    int products = 0;
  };

  void add(Product product);
  void make(const Product& product);

  bool has_begun_ = false;
  std::vector<Product> open_;
  std::deque<std::vector<Product>> groups_;
  std::map<float*, UnderWay> under_way_;
};

}  // namespace onnxc::host_blocks
