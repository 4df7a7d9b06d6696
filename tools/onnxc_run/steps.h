// Names of steps as people read them.
#pragma once

#include <string>
#include <vector>

#include "ir/source_place.h"
#include "onnxc.h"
#include "onnxc_run/session.h"

namespace onnxc {

// The ONNX nodes that a step computes, each "name (operator)"; a node without a name is only its operator. As in the
// model: for JSON, not for a terminal.
std::vector<std::string> step_nodes(const onnxc_step_info& step);

// The sources of the step's nodes, in their order; empty if the model does not say.
std::vector<SourcePlace> step_places(const Session& session, int32_t step);
// The first of these that is known, fit for a terminal: "net.py:42 in decoder.join"; else "".
std::string step_place(const Session& session, int32_t step);
// Working memory in use for tensors during a step; 0 if the model is older than this.
int64_t step_working_bytes(const Session& session, int32_t step);

// "conv1 (Conv) + relu1 (Relu)"; the step's own name when it computes no node. Fit for a terminal.
std::string step_title(const onnxc_step_info& step);

// Bytes of the tensors that a step reads and writes, each once; 0 if they are not known.
double step_traffic(const Session& session, int32_t step);

// A step of the CPU's program.
inline onnxc_step_info cpu_step(const onnxc_api& api, int32_t step) {
  return {api.step_name(step), api.step_nodes(step), api.step_operators(step)};
}

}  // namespace onnxc
