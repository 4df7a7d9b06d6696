// Blocks of GPU threads on the host, so that the source of a kernel runs as C++, also under the address sanitizer.
//
// Each thread of a block is a fibre with a stack of its own. A fibre runs until it reaches a barrier or an exchange
// between the lanes of its warp, and goes on when all others have. Blocks run one after the other. Shared memory holds
// NaN when a block begins.
//
// The process ends with a message if a kernel does what a GPU leaves undefined: a thread ends while others wait for it,
// or lanes of a warp meet in different words. ONNXC_HOST_ORDER (forward, backward, or a number that seeds a shuffle)
// chooses which fibre runs first after each meeting, since a kernel that misses a barrier may be right in one order.
// ONNXC_HOST_BLOCKS (numbers between commas) chooses blocks of a launch that is too large to run whole.
#pragma once

#include <cstddef>
#include <cstdint>

#include "async_copy.h"
#include "warpgroup.h"

namespace onnxc::host_blocks {

inline constexpr int warp_lanes = 32;
// Words that a lane gives to an exchange: the operands of RDNA3's product of 16 x 16 x 16 halves are 16 of them.
inline constexpr int exchange_words = 16;

// The words that the lanes of a warp have given. A lane may read them until its next exchange.
struct Exchanged {
  uint32_t words[warp_lanes][exchange_words];
};

struct Body {
  void (*run)(void* context);
  void* context;
};
// Runs `body` once for each thread of each block.
void run_blocks(uint32_t blocks, uint32_t threads, Body body);
// The same for one block of a launch, by its number.
void run_block(uint32_t index, uint32_t threads, Body body);

// Numbers and copies belong to the running thread.
uint32_t block_index();
uint32_t thread_index();
AsyncCopies& copies();
WarpgroupProducts& products();
// Whether the matrix unit sees what any thread of the block copied before a barrier.
bool all_copies_are_ordered();
// All threads of the block reach it.
void barrier();
// All lanes of the warp reach it, by the same `word`, each with `count` words.
const Exchanged& exchange(const char* word, const uint32_t* words, int count);

// Fills the shared memory of the kernels with bytes of a NaN.
void poison_block_memory();
// The shared memory of a launch that asks for so many bytes. It begins at address 0, before all that kernels declare.
void ask_for_memory(uint32_t bytes);
char* launch_memory();
// Places in shared memory as numbers of 32 bits, which instructions take.
uint32_t block_memory_address(const void* place);
void* block_memory_place(uint32_t address);

[[noreturn]] void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace onnxc::host_blocks
