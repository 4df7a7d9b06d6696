// The constants of a program as one block of bytes, each packed into its layout.
#pragma once

#include <map>
#include <vector>

#include "ir/program/program.h"
#include "support/safe_file.h"

namespace onnxc {

// The block is never contiguous in memory: it may be hundreds of megabytes, and each copy costs time.
class WeightBytes {
 public:
  // Returns the offset of the constant's bytes, a multiple of 64. At least 64 bytes behind them may be read; these are
  // zero up to the next constant.
  int64_t append(Tensor constant);
  int64_t size() const { return size_; }
  void write(OutputFile& file) const;

 private:
  std::vector<Tensor> constants_;
  int64_t size_ = 0;
};

struct Weights {
  WeightBytes bytes;
  std::map<BufferId, int64_t> offsets;  // of each constant storage: multiples of 64
};

// Constants with equal bytes have one copy.
Weights pack_weights(const Program& program, const std::vector<BufferId>& constants);

}  // namespace onnxc
