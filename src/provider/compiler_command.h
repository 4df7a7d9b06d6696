// The command onnxc, by which the provider compiles: a compile then has its sandbox and its limits, whatever the
// process is that holds the provider, and this library needs no protobuf; that process may have another version of it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace onnxc::provider {

struct CompilerCommand {
  std::filesystem::path file;
  std::vector<std::string> options;  // of each compile
};

// onnxc in $ONNXC_BIN; else in bin/, beside the folder of this library. UserError if there is none, UsageError if
// $ONNXC_BIN has none.
std::filesystem::path find_compiler_command();

// Compiles the bytes of a model. UserError with what the command says if it refuses the model, UsageError if it refuses
// the options.
void compile(const CompilerCommand& command, std::string_view model, const std::filesystem::path& output);

// The nodes of a model that cannot be compiled, each by itself or for its inputs' shapes: of names "n0", "n1" and so on
// the numbers (ModelWriter's NodeNames::numbered), in ascending order. UserError if the command does not come to the
// nodes.
std::vector<size_t> faulty_nodes(const CompilerCommand& command, std::string_view model);

}  // namespace onnxc::provider
