// Hashes of bytes: the same on every machine and in every run.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace onnxc {

// FNV-1a, 64 bits: short and quick; not against intent.
constexpr uint64_t fnv1a(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

// SHA-256 (FIPS 180-4) in lower-case hexadecimal: names contents, even if somebody would like two to agree.
std::string sha256(std::span<const std::byte> bytes);

}  // namespace onnxc
