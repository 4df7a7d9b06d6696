// Import: an ONNX file becomes a Graph. ONNX's protobuf types do not leave this folder.
//
// Reads any operator set from 1 to the newest that the ONNX library knows. Inlines model-local functions, and operators
// that have no row here but that ONNX defines as functions. Constants become values, attributes get their defaults,
// nodes that no wanted output needs are dropped. Shape inference gives values their shapes later.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "support/limits.h"

namespace onnxc {

struct ImportOptions {
  Limits limits = {};
  // The model itself, if it is in memory: the path is then its name, beside which its external data lies.
  std::optional<std::string_view> model_bytes = {};
  // Bounds of symbols of the inputs' shapes, by name; a single value makes the symbol a number.
  std::map<std::string, Bounds> dims = {};
  // Tells of bounds that no input has (ImportedModel::unused_dims) instead of throwing: another model may have them.
  bool keep_unused_dims = false;
  // The outputs to keep, in this order; empty for all.
  std::vector<std::string> outputs = {};
  // External data with several hard links (support/safe_file.h).
  bool allow_hard_links = false;
  // Keeps nodes that cannot be compiled, with a null row, instead of throwing: for showing shapes up to them.
  bool keep_unsupported = false;
};

// The file's own description. All of it is text from the model.
struct ModelFacts {
  std::string sha256;    // of the .onnx file, without its external data
  std::string producer;  // "pytorch 2.13.0"
  int64_t ir_version = 0;
  std::vector<std::pair<std::string, int64_t>> opset_imports;  // domain ("" is ai.onnx) and version
  std::vector<std::pair<std::string, std::string>> metadata;   // metadata_props
  std::string unsupported;  // with keep_unsupported: the text of the error that was not thrown; else empty
};

struct ImportedModel {
  std::unique_ptr<Graph> graph;
  ModelFacts facts;
  // Whatever of them was needed.
  std::vector<std::filesystem::path> external_files;
  std::vector<std::string> unused_dims;  // with keep_unused_dims: of ImportOptions::dims
  // Violations of ONNX's text whose meaning is clear and that onnxruntime accepts too.
  std::vector<std::string> warnings;
};

// Throws UserError, with the file's name, for a file that cannot be read, is not a valid model or holds what onnxc
// cannot compile (every such node is listed). Throws UsageError for a dim or an output that the model does not have.
ImportedModel import_model(const std::filesystem::path& path, const ImportOptions& options = {});

// The files of a model beside its own, without importing it; none of one that cannot be read.
std::vector<std::filesystem::path> external_files(const std::filesystem::path& path);

}  // namespace onnxc
