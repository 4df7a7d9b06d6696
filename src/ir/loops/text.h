// The spelling of the loop IR, shared by its printer and its parser.
#pragma once

#include <optional>
#include <string_view>

#include "ir/loops/scalar_ops.h"

namespace onnxc {

// "bits_as_int32(b0[i])": a cast is spelled with only the dtype.
constexpr std::string_view reinterpret_prefix = "bits_as_";

std::string_view name(ReduceKind kind);
std::optional<ReduceKind> parse_reduce_kind(std::string_view name);
std::string_view name(AxisKind kind);
std::string_view spelling(StoreKind kind);  // "=", "+=", "*=", "min=", "max="

// The nest with other names for those of its axes and lets whose names are taken, as it is printed.
LoopNest with_distinct_names(const LoopNest& nest);

}  // namespace onnxc
