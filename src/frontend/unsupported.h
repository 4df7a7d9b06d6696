// Nodes that cannot be compiled: all of them are collected, and reported as one error.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "onnx/defs/schema.h"

namespace onnxc {

class UnsupportedNodes {
 public:
  // `schema` is ONNX's for the node in the version that is imported, or null where ONNX has none.
  void add(const Origin& origin, const onnx::OpSchema* schema);
  // For a node that is refused for a reason of its own.
  void add(const Origin& origin, std::string reason);

  bool empty() const { return nodes_.empty(); }
  // One line a node: name, operator, domain and version, why, and what would help.
  std::string report() const;

 private:
  struct Entry {
    Origin origin;
    std::string reason;
  };
  std::vector<Entry> nodes_;
};

}  // namespace onnxc
