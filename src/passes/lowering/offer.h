// Offers: the ways in which a target would compute a node, by its kernels, and what each costs.
#pragma once

#include <any>
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
  // The layout in which it reads its activations, another one costs a copy; none if it reads any layout.
  LayoutDemand reads = LayoutDemand::none;
  // The layout in which it writes output 0, another one costs a copy; none if it writes that of its activations.
  LayoutDemand gives = LayoutDemand::rows;
  // The activations are so many of the node's first inputs. Others, such as weights, are read as they are.
  size_t activations = 1;
  // For one image, on the target's scale (Target::cost_unit). Nothing if it is not estimated: then it counts as 0, and
  // of several such offers the first is taken.
  std::optional<double> cost = {};
  // Why it takes no part in the choice although the kernel supports the node; empty if it does.
  std::string declined = {};
  // The kernel's plan, for fusions that are priced before there are calls (Fusion::saving).
  std::any plan = {};
  // Adds the step of the kernel's call to the program.
  std::function<void(LoweringContext&)> lower = {};
};
using Offers = std::vector<Offer>;

}  // namespace onnxc
