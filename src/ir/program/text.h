// How a program is spelled: what its printer and its parser share.
#pragma once

#include <optional>
#include <string_view>

#include "ir/program/program.h"

namespace onnxc {

std::string_view name(BufferKind kind);
std::optional<BufferKind> parse_buffer_kind(std::string_view name);

}  // namespace onnxc
