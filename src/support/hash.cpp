#include "support/hash.h"

#include <fmt/format.h>
#include <immintrin.h>

#include <bit>
#include <cstring>

namespace onnxc {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2).
constexpr std::array<uint32_t, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<uint32_t, 8>;
constexpr size_t block_size = 64;

uint32_t load_big_endian(const std::byte* bytes) {
  uint32_t word = 0;
  for (int i = 0; i < 4; ++i) word = word << 8 | static_cast<uint32_t>(bytes[i]);
  return word;
}

// FIPS 180-4, 6.2.2, with the instructions made for it: about four times as fast. They hold the state as the words a b
// e f and c d g h, the first one highest, and make two rounds at a time.
[[gnu::target("sha,sse4.1")]] void compress_by_instructions(State& state, const std::byte* block) {
  auto load = [](const void* from)
                  __attribute__((target("sse4.1"))) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); };
  const __m128i abcd = load(state.data()), efgh = load(state.data() + 4);
  const __m128i badc = _mm_shuffle_epi32(abcd, 0xb1), hgfe = _mm_shuffle_epi32(efgh, 0x1b);
  __m128i abef = _mm_alignr_epi8(badc, hgfe, 8), cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);
  const __m128i abef_before = abef, cdgh_before = cdgh;

  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  std::array<__m128i, 4> words;
  for (size_t i = 0; i < 4; ++i) words[i] = _mm_shuffle_epi8(load(block + 16 * i), big_endian);
  for (size_t i = 0; i < 16; ++i) {
    __m128i& oldest = words[i % 4];
    const __m128i sums = _mm_add_epi32(oldest, load(&round_constants[4 * i]));
    cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sums);
    abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sums, 0x0e));
    const __m128i newest = words[(i + 3) % 4];
    const __m128i middle = _mm_alignr_epi8(newest, words[(i + 2) % 4], 4);
    oldest = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(oldest, words[(i + 1) % 4]), middle), newest);
  }

  abef = _mm_add_epi32(abef, abef_before), cdgh = _mm_add_epi32(cdgh, cdgh_before);
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data()), _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data() + 4), _mm_alignr_epi8(dchg, feba, 8));
}

// FIPS 180-4, 6.2.2.
void compress_by_words(State& state, const std::byte* block) {
  std::array<uint32_t, 64> w;
  for (size_t t = 0; t < 16; ++t) w[t] = load_big_endian(block + 4 * t);
  for (size_t t = 16; t < 64; ++t) {
    const uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
    const uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t t = 0; t < 64; ++t) {
    const uint32_t sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + round_constants[t] + w[t];
    const uint32_t sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const State working = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < state.size(); ++i) state[i] += working[i];
}

void compress(State& state, const std::byte* block) {
  static const bool has_instructions = __builtin_cpu_supports("sha") && __builtin_cpu_supports("sse4.1");
  has_instructions ? compress_by_instructions(state, block) : compress_by_words(state, block);
}

}  // namespace

std::string sha256(std::span<const std::byte> bytes) {
  State state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  size_t done = 0;
  for (; bytes.size() - done >= block_size; done += block_size) compress(state, bytes.data() + done);

  // The rest, a one bit, zeros, and the length in bits as the last eight bytes: one block or two.
  std::array<std::byte, 2 * block_size> tail{};
  const size_t rest = bytes.size() - done;
  if (rest != 0) std::memcpy(tail.data(), bytes.data() + done, rest);
  tail[rest] = std::byte{0x80};
  const size_t tail_size = rest + 9 <= block_size ? block_size : 2 * block_size;
  const uint64_t bits = static_cast<uint64_t>(bytes.size()) * 8;
  for (size_t i = 0; i < 8; ++i) tail[tail_size - 1 - i] = static_cast<std::byte>(bits >> (8 * i));
  for (size_t at = 0; at < tail_size; at += block_size) compress(state, tail.data() + at);

  std::string hexadecimal;
  for (uint32_t word : state) hexadecimal += fmt::format("{:08x}", word);
  return hexadecimal;
}

}  // namespace onnxc
