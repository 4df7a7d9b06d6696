// The parts of the exported program that a node comes from, as exporters write them.
#pragma once

#include <string_view>

#include "ir/source_place.h"
#include "onnx/onnx_pb.h"

namespace onnxc {

// PyTorch's exporter (dynamo=True) writes the stack of calls and the modules around it into metadata_props
// (pkg.torch.onnx.stack_trace, pkg.torch.onnx.name_scopes); of the stack the innermost line outside of PyTorch counts,
// which is the user's. Its older exporter writes the modules into the name: "/down/conv/Conv".
SourcePlace read_source_place(const onnx::NodeProto& node);

// The parts of the above, for tests.
// `File "/usr/lib/python3/dist-packages/monai/nets.py", line 3, in forward\n    return x + 1` and so on, the outermost
// first.
SourcePlace place_of_stack_trace(std::string_view trace);
// "['', 'down', 'down.conv', 'conv3d']": a list as Python prints it; the last is the node itself.
std::string module_of_scopes(std::string_view scopes);
// "/down/down.0/conv/Conv" is "down.0.conv": a scope repeats its parent if that holds it by number.
std::string module_of_name(std::string_view name);

}  // namespace onnxc
