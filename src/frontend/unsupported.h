// Nodes that cannot be compiled: all of them are collected, and reported as one error.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "onnx/defs/schema.h"

namespace onnxc {

// The version as which an operator of ai.onnx is taken that this version of ONNX lacks, and that files of onnxruntime
// hold; 0 if ONNX never had it. Nothing for another.
std::optional<int> version_outside_onnx(const Origin& origin);

class UnsupportedNodes {
 public:
  // `schema` is ONNX's for the node in the version that is imported, or null if ONNX has none.
  void add(const Origin& origin, const onnx::OpSchema* schema);
  // For a node that is refused for a reason of its own.
  void add(const Origin& origin, std::string reason);

  bool empty() const { return nodes_.empty(); }
  // One line a node: name, operator, domain and version, why, and what would help. Ten lines of many nodes.
  std::string report() const;

 private:
  struct Entry {
    Origin origin;
    std::string reason;
  };
  std::vector<Entry> nodes_;
};

}  // namespace onnxc
