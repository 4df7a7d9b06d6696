#include "gpu/library/ptx_parts.h"

#include <stdio.h>
#include <string.h>

#include "base/begins_with.h"

namespace onnxc::runtime {
namespace {

constexpr char kernel_begin[] = ".visible .entry ";

const char* next_line(const char* line) {
  const char* const end = strchr(line, '\n');
  return end != nullptr ? end + 1 : line + strlen(line);
}

// A run of text: a kernel, or what stands between two.
struct Piece {
  const char* begin;
  size_t size;
  bool is_kernel;
};

Piece piece_at(const char* text) {
  const bool is_kernel = begins_with(text, kernel_begin);
  const char* line = text;
  while (*line != '\0' && (is_kernel ? *line != '}' : !begins_with(line, kernel_begin))) line = next_line(line);
  const char* const end = is_kernel ? next_line(line) : line;
  return {text, static_cast<size_t>(end - text), is_kernel};
}

// Calls body(piece, part) for each piece in order; the part of what stands between kernels means nothing.
template <class Body>
int32_t walk(const char* text, size_t part_bytes, Body body) {
  int32_t part = 0;
  size_t bytes = 0;
  while (*text != '\0') {
    const Piece piece = piece_at(text);
    if (piece.is_kernel && bytes >= part_bytes) {
      ++part;
      bytes = 0;
    }
    if (piece.is_kernel) bytes += piece.size;
    body(piece, part);
    text = piece.begin + piece.size;
  }
  return part + 1;
}

}  // namespace

bool PtxParts::cut(const char* text, size_t part_bytes) {
  int64_t common = 0;
  const int32_t parts = walk(text, part_bytes, [&](const Piece& piece, int32_t) {
    if (!piece.is_kernel) common += static_cast<int64_t>(piece.size);
  });
  const auto whole = static_cast<int64_t>(strlen(text));
  if (!begins_.allocate(parts) || !texts_.allocate(whole + (parts - 1) * common + parts)) return false;
  char* to = texts_.data();
  for (int32_t part = 0; part < parts; ++part) {
    begins_[part] = to - texts_.data();
    walk(text, part_bytes, [&](const Piece& piece, int32_t its_part) {
      if (piece.is_kernel && its_part != part) return;
      memcpy(to, piece.begin, piece.size);
      to += piece.size;
    });
    ++to;  // the array is of zeros
  }
  return true;
}

int32_t PtxParts::part_of(const char* kernel) const {
  char declaration[128];
  snprintf(declaration, sizeof declaration, "\n%s%s(", kernel_begin, kernel);
  for (int32_t part = 0; part < count(); ++part)
    if (strstr(text(part), declaration) != nullptr) return part;
  return 0;
}

}  // namespace onnxc::runtime
