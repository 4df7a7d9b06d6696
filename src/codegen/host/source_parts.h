// The source of a model in parts that are compiled in parallel.
//
// The text is one file. Parts that take long to compile are between `#if ONNXC_IN_PART(n)` and `#endif`: the compiler
// sees them when it compiles the file as a whole (ONNXC_PART not defined) or as part n. A unit is what must be compiled
// together: the same function, or the same template. Only the units' estimated costs decide on the parts, so the bytes
// do not depend on the number of processes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace onnxc {

class SourceParts {
 public:
  using Unit = size_t;

  // Adds a unit. `work` is its cost for the compiler, in characters of plain loops.
  Unit add_unit(int64_t cost);
  // Appends text that all parts see, or only the part of one unit.
  void append(std::string text) { pieces_.push_back({std::move(text), std::nullopt}); }
  void append(std::string text, Unit unit) { pieces_.push_back({std::move(text), unit}); }

  struct Source {
    std::string text;
    int parts;
  };
  // The parts are as even as the largest unit allows; a small model is one part and has no marks.
  Source take();

 private:
  struct Piece {
    std::string text;
    std::optional<Unit> unit;
  };

  std::vector<int> distribute(int parts) const;

  std::vector<int64_t> costs_;
  std::vector<Piece> pieces_;
};

}  // namespace onnxc
