// A kernel that is only known by its text in a program.
#pragma once

#include <string>
#include <utility>

#include "ir/program/program.h"

namespace onnxc {

// Passes can move its call, but no target can emit it: targets look for specs of their own.
class TextKernel : public KernelSpec {
 public:
  explicit TextKernel(std::string title, KernelOperands operands, bool accepts_views = true)
      : title_(std::move(title)), operands_(std::move(operands)), accepts_views_(accepts_views) {}

  std::string describe() const override { return title_; }
  KernelOperands operands() const override { return operands_; }
  bool accepts_views() const override { return accepts_views_; }

 private:
  std::string title_;
  KernelOperands operands_;
  bool accepts_views_;
};

}  // namespace onnxc
