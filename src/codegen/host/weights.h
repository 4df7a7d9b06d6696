// The constants of programs as one block of bytes, each packed into its layout.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "ir/program/program.h"
#include "support/safe_file.h"

namespace onnxc {

// The block is never contiguous in memory: it may be hundreds of megabytes, and each copy costs time.
class WeightBytes {
 public:
  // Returns the offset of the constant's bytes, a multiple of 64; constants with equal bytes have one copy. At least 64
  // bytes after them may be read; these are zero up to the next constant.
  int64_t place(const Tensor& constant);
  int64_t size() const { return size_; }
  void write(OutputFile& file) const;
  // Whether both blocks have the same bytes at the same places.
  bool equals(const WeightBytes& other) const;

 private:
  struct Place {
    Tensor constant;
    int64_t offset;
  };
  std::vector<Place> places_;
  std::unordered_map<uint64_t, std::vector<size_t>> by_hash_;
  int64_t size_ = 0;
};

// The constants of programs that are compiled together: equal ones take the memory of one.
class SharedConstants {
 public:
  void share(Program& program);

 private:
  std::unordered_map<uint64_t, std::vector<Tensor>> by_hash_;
};

// Packs a program's constants into the block, and returns the offset of each.
std::map<BufferId, int64_t> pack_weights(const Program& program, const std::vector<BufferId>& constants,
                                         WeightBytes& bytes);

}  // namespace onnxc
