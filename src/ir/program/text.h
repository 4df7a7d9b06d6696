// The spelling of a program, shared by its printer and its parser.
#pragma once

#include <optional>
#include <string_view>

#include "ir/program/program.h"

namespace onnxc {

std::string_view name(BufferKind kind);
std::optional<BufferKind> parse_buffer_kind(std::string_view name);

}  // namespace onnxc
