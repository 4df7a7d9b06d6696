// Changes for the fuzzer that leave a model a model: most changes of single bytes end in the protobuf reader.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace onnxc::fuzz {

// The bytes of a ModelProto with one to four changes: operators, what a node reads, attributes, dims, types, elements
// of initializers, nodes added, doubled and left out, in the main graph or in that of an If, Loop or Scan. The same
// `seed` makes the same changes. Nothing if `bytes` are not a ModelProto with a node.
std::optional<std::string> change_model(std::string_view bytes, uint32_t seed);

// The first model with a graph of the second put after it: its inputs are values of the first by chance, and the
// outputs of both are the model's. Nothing if one of both has no node.
std::optional<std::string> join_models(std::string_view first, std::string_view second, uint32_t seed);

}  // namespace onnxc::fuzz
