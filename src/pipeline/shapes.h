// The stage that infers shapes, and the texts of --dump-shapes.
#pragma once

#include <string>
#include <vector>

#include "frontend/import.h"
#include "passes/graph/infer_shapes.h"
#include "pipeline/compile.h"
#include "pipeline/pass_runner.h"

namespace onnxc {

// Why the shapes of a model could not all be inferred; "" if they were.
struct Inference {
  std::vector<ShapeFaults::Fault> faults;
  std::string stop;
};
Inference infer_shapes(PassRunner& passes, const ImportedModel& model);

// As a table, as JSON, or into the file.
void dump_shapes(const CompileRequest& request, const ImportedModel& model, const Inference& inference);
// The differences from another model, whose shapes are inferred here as well.
void dump_difference(const CompileRequest& request, PassRunner& passes, const ImportedModel& model,
                     const ImportedModel& other);

}  // namespace onnxc
