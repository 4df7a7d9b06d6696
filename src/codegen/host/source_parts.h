// The source of a model in parts that are compiled at the same time.
//
// The text is one file. What takes long to compile stands between `#if ONNXC_IN_PART(n)` and `#endif`, and is seen by
// the compiler when it compiles the file as a whole (ONNXC_PART not defined) or as part n. A unit is what must be
// compiled together: the same function, or the same template. Parts depend on the estimated costs of the units alone,
// so the bytes do not depend on how many processes there are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace onnxc {

class SourceParts {
 public:
  using Unit = size_t;

  // A unit of so much work for the compiler, in characters of plain loops.
  Unit add_unit(int64_t cost);
  // Appends text that all parts see, or that only the part of a unit does.
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
