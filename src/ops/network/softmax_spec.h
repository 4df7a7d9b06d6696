// The attributes of Softmax, LogSoftmax and Hardmax, resolved once: defaults and versions are gone. Shape inference,
// the definitions and every kernel read this and nothing else.
#pragma once

#include <cstddef>

namespace onnxc {

class NodeReader;
struct Node;

enum class SoftmaxKind { softmax, log_softmax, hardmax };

struct SoftmaxSpec {
  SoftmaxKind kind = SoftmaxKind::softmax;
  size_t rank = 0;
  size_t first_axis = 0, end_axis = 0;  // the axes from `first_axis` to before `end_axis` are normalised together

  bool takes_logarithm() const { return kind == SoftmaxKind::log_softmax; }
  // Elements that are normalised together stand one after another.
  bool is_of_rows() const { return end_axis == rank; }
};

// Whether a node is a Softmax or LogSoftmax of ONNX, which have kernels.
bool is_softmax(const Node& node);
// Until version 12 of the operator set the tensor is a matrix whose columns are all axes from attribute 'axis' (default
// 1) on; since 13 it is one axis (default the last). Fails for an axis out of range.
SoftmaxSpec resolve_softmax(const NodeReader& node);

}  // namespace onnxc
