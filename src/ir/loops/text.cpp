#include "ir/loops/text.h"

#include <array>
#include <utility>

#include "support/diagnostics.h"

namespace onnxc {
namespace {

constexpr std::array<std::pair<ReduceKind, std::string_view>, 10> reduce_names = {{
    {ReduceKind::sum, "sum"},
    {ReduceKind::product, "product"},
    {ReduceKind::minimum, "minimum"},
    {ReduceKind::maximum, "maximum"},
    {ReduceKind::any, "any"},
    {ReduceKind::all, "all"},
    {ReduceKind::argument_minimum, "argument_minimum"},
    {ReduceKind::argument_maximum, "argument_maximum"},
    {ReduceKind::last_argument_minimum, "last_argument_minimum"},
    {ReduceKind::last_argument_maximum, "last_argument_maximum"},
}};

}  // namespace

std::string_view name(ReduceKind kind) {
  for (const auto& [candidate, text] : reduce_names)
    if (candidate == kind) return text;
  internal_error("a reduction without a name");
}

std::optional<ReduceKind> parse_reduce_kind(std::string_view name) {
  for (const auto& [kind, text] : reduce_names)
    if (text == name) return kind;
  return std::nullopt;
}

std::string_view name(AxisKind kind) {
  switch (kind) {
    case AxisKind::parallel:
      return "axes";
    case AxisKind::ordered:
      return "ordered";
    case AxisKind::reduce:
      return "reduce";
  }
  internal_error("an axis of no kind");
}

std::string_view spelling(StoreKind kind) {
  switch (kind) {
    case StoreKind::assign:
      return "=";
    case StoreKind::add:
      return "+=";
    case StoreKind::multiply:
      return "*=";
    case StoreKind::minimum:
      return "min=";
    case StoreKind::maximum:
      return "max=";
  }
  internal_error("a store of no kind");
}

}  // namespace onnxc
