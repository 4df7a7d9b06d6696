// The rules of sizes as people read them: one line for the dims for which one node demands the same.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace onnxc {

// "D, H, W" and the rule of the first.
struct SizeLine {
  std::string symbols;
  const SizeRule* first;

  // "D, H, W = 16*n (node 'cat' (Concat): dim 2 of every input must agree)"
  std::string text() const;
};

std::vector<SizeLine> size_lines(const std::vector<SizeRule>& rules);

}  // namespace onnxc
