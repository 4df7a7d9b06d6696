#include "pipeline/shapes.h"

#include "report/shape_difference.h"
#include "report/shapes.h"
#include "support/safe_file.h"

namespace onnxc {
namespace {

// `table` and `json` make the texts of what is shown.
template <class Shown>
void dump(const CompileRequest& request, const Shown& shown, std::string (*table)(const Shown&),
          std::string (*json)(const Shown&)) {
  const Options& options = request.options;
  if (options.dump_shapes->empty())
    request.messages(MessageKind::output, options.json ? json(shown) : table(shown));
  else
    write_file(*options.dump_shapes, json(shown));
}

// Why a model cannot be compiled: all operators that it lacks, as the import found them, and all other faults.
std::string reasons_to_stop(const std::string& unsupported, const std::vector<ShapeFaults::Fault>& faults) {
  std::vector<ShapeFaults::Fault> others;
  for (const ShapeFaults::Fault& fault : faults)
    if (fault.node->op != nullptr) others.push_back(fault);
  if (unsupported.empty() || others.empty()) return unsupported.empty() ? ShapeFaults::text_of(others) : unsupported;
  return unsupported + "\n" + ShapeFaults::text_of(others);
}

}  // namespace

Inference infer_shapes(PassRunner& passes, const ImportedModel& model) {
  try {
    for (const GraphPass& pass : shape_passes()) passes.run(pass, *model.graph);
    return {};
  } catch (const ShapeFaults& found) {
    return {found.faults, reasons_to_stop(model.facts.unsupported, found.faults)};
  } catch (const UserError& error) {
    return {{}, error.what()};
  }
}

void dump_shapes(const CompileRequest& request, const ImportedModel& model, const Inference& inference) {
  const ShapeView view(*model.graph, request.options.shape_request);
  dump(request, ShownShapes{*model.graph, view, inference.faults, inference.stop}, shapes_table, shapes_json);
}

void dump_difference(const CompileRequest& request, PassRunner& passes, const ImportedModel& model,
                     const ImportedModel& other) {
  const Options& options = request.options;
  const ComparedGraph before{options.against.string(), *other.graph, infer_shapes(passes, other).stop};
  const ComparedGraph after{options.model.string(), *model.graph, infer_shapes(passes, model).stop};
  const ShapeDifference difference = compare_shapes(before, after, ShapeView(*model.graph, options.shape_request));
  dump(request, difference, difference_table, difference_json);
}

}  // namespace onnxc
