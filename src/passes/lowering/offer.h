// Offers: the ways in which the kernels of a target would compute a node, and what each costs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace onnxc {

class LoweringContext;

// A layout that a kernel reads or writes: rows are row-major (NCHW), blocks are NCHWc.
enum class LayoutDemand : uint8_t { none, rows, blocks };

struct Offer {
  // The kernel's name in reports: the title of the step that it becomes begins so (LoweringContext::kernel).
  std::string kernel;  // "conv_winograd F(2,2,4)": with the tile of outputs
  // The layout in which it reads input 0, the activations; none if the kernel reads any layout, or copies as it likes.
  LayoutDemand reads = LayoutDemand::none;
  // The layout in which it writes output 0, another one costs a copy; none if it writes that of its input.
  LayoutDemand gives = LayoutDemand::rows;
  // The layout that input 0 must have already if it is to be an offer: the kernel is planned for it, or a copy would
  // cost what it gains.
  LayoutDemand needs = LayoutDemand::none;
  // For one image, in Target::cost_unit; nothing if it is not estimated, since the kernel has no rival, or rivals are
  // taken in the order of the offers.
  std::optional<double> cost = {};
  // Why it takes no part in the choice although the kernel supports the node; empty if it does.
  std::string declined = {};
  // Adds the step of the kernel's call to the program.
  std::function<void(LoweringContext&)> lower = {};
};
using Offers = std::vector<Offer>;

}  // namespace onnxc
