// The operators that onnxc compiles: the documentation of a build about itself.
#pragma once

#include <string>
#include <vector>

namespace onnxc {

struct ListedOperator {
  std::string domain;  // "" is ai.onnx
  std::string name;
  // How it is compiled: "loops" by its row, "expansion" by a row that puts other operators in its place, "body" by the
  // function that ONNX gives for it, "control flow" and "constant" by the importer; "" if it is not.
  std::string form;
  // The versions in which ONNX changed the operator: those that are compiled, and those that are not. Empty for an
  // operator that ONNX does not know.
  std::vector<int> versions, missing_versions;
};

// Every operator that ONNX's library or a row knows, by domain and name. Versions that only say that an operator is
// gone are left out.
std::vector<ListedOperator> list_operators();

}  // namespace onnxc
