// Small models for tests: written in ONNX's textual form, changed as messages, imported through a file.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "frontend/import.h"
#include "onnx/defs/parser.h"
#include "onnx/onnx_pb.h"
#include "support/diagnostics.h"
#include "support/safe_file.h"
#include "support/temporary_folder.h"

namespace onnxc {

// A whole model in the form of onnx.parser.
inline onnx::ModelProto parse_text_model(const std::string& text) {
  onnx::ModelProto model;
  const onnx::Common::Status status = onnx::OnnxParser::Parse(model, text.c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage() << text;
  return model;
}

// A model of one graph, "(float[N, 3] x) => (float[N, 3] y) { y = Relu(x) }".
inline onnx::ModelProto parse_graph(const std::string& graph, int opset = 18, int ir_version = 8) {
  return parse_text_model("<ir_version: " + std::to_string(ir_version) +
                          ", opset_import: [\"\": " + std::to_string(opset) + "]> g " + graph);
}

// A folder with one model in it, which may hold external data too.
class ModelFolder {
 public:
  ModelFolder() : folder_("test") {}

  std::filesystem::path path(std::string_view name = "model.onnx") const { return folder_.path() / name; }
  void put(std::string_view name, std::string_view bytes) const { write_file(path(name), bytes); }
  ImportedModel import(const onnx::ModelProto& model, const ImportOptions& options = {}) const {
    return import_bytes(model.SerializeAsString(), options);
  }
  ImportedModel import_bytes(std::string_view bytes, const ImportOptions& options = {}) const {
    put("model.onnx", bytes);
    return import_model(path(), options);
  }
  // The text of the error, without the path in front; "no error" if the import succeeds.
  std::string error_of(const onnx::ModelProto& model, const ImportOptions& options = {}) const {
    return error_of_bytes(model.SerializeAsString(), options);
  }
  std::string error_of_bytes(std::string_view bytes, const ImportOptions& options = {}) const {
    try {
      import_bytes(bytes, options);
    } catch (const UserError& error) {
      const std::string prefix = "'" + path().string() + "': ", text = error.what();
      return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
    }
    return "no error";
  }

 private:
  TemporaryFolder folder_;
};

inline std::string import_error(const onnx::ModelProto& model, const ImportOptions& options = {}) {
  return ModelFolder().error_of(model, options);
}

inline std::unique_ptr<Graph> import_graph(const onnx::ModelProto& model, const ImportOptions& options = {}) {
  std::unique_ptr<Graph> graph = ModelFolder().import(model, options).graph;
  verify(*graph);
  return graph;
}

// The types of the nodes in order, "Conv Relu".
inline std::string node_types(const Graph& graph) {
  std::string text;
  for (const auto& node : graph.nodes()) text += (text.empty() ? "" : " ") + node->origin.type;
  return text;
}

}  // namespace onnxc
