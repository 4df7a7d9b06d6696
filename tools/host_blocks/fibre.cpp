#include "fibre.h"

#include <sys/mman.h>

#include <cstdint>

#include "block.h"

#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// Keeps the registers that a function must preserve on the running stack, stores the top of that stack in *saved, and
// goes on at the stack whose top is `next` (System V ABI for x86-64, 3.2.1).
extern "C" void onnxc_switch_stacks(void** saved, void* next);
asm(R"(
  .text
  .type onnxc_switch_stacks, @function
onnxc_switch_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  retq
  .size onnxc_switch_stacks, .-onnxc_switch_stacks
)");

namespace onnxc::host_blocks {
namespace {

constexpr size_t page_bytes = 4096, stack_bytes = 256 * 1024, mapped_bytes = page_bytes + stack_bytes;
constexpr int saved_registers = 6;

#if __has_feature(address_sanitizer)
void begin_switch(void** fake_stack, const void* bottom, size_t bytes) {
  __sanitizer_start_switch_fiber(fake_stack, bottom, bytes);
}
void end_switch(void* fake_stack, const void** bottom, size_t* bytes) {
  __sanitizer_finish_switch_fiber(fake_stack, bottom, bytes);
}
void forget(std::byte* stack) { __asan_unpoison_memory_region(stack, stack_bytes); }
#else
void begin_switch(void**, const void*, size_t) {}
void end_switch(void*, const void**, size_t*) {}
void forget(std::byte*) {}
#endif

Fibre* entering = nullptr;

}  // namespace

Fibre::Fibre() {
  void* const mapped = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED || mprotect(mapped, page_bytes, PROT_NONE) != 0) fail("there is no memory for a stack");
  memory_ = static_cast<std::byte*>(mapped) + page_bytes;
}

Fibre::~Fibre() { munmap(memory_ - page_bytes, mapped_bytes); }

void Fibre::start(void (*function)(void*), void* argument) {
  function_ = function;
  argument_ = argument;
  has_ended_ = false;
  own_fake_stack_ = nullptr;
  forget(memory_);
  // The first switch pops the registers and returns into a function, with the stack as a call leaves it: 8 bytes below
  // a multiple of 16.
  auto* top = reinterpret_cast<void**>(memory_ + stack_bytes) - 1;
  *--top = reinterpret_cast<void*>(+[] { enter(entering); });
  for (int i = 0; i < saved_registers; ++i) *--top = nullptr;
  own_stack_ = top;
}

void Fibre::resume() {
  entering = this;
  begin_switch(&callers_fake_stack_, memory_, stack_bytes);
  onnxc_switch_stacks(&callers_stack_, own_stack_);
  end_switch(callers_fake_stack_, nullptr, nullptr);
}

void Fibre::give_way() {
  begin_switch(has_ended_ ? nullptr : &own_fake_stack_, callers_bottom_, callers_size_);
  onnxc_switch_stacks(&own_stack_, callers_stack_);
  end_switch(own_fake_stack_, &callers_bottom_, &callers_size_);
}

void Fibre::enter(Fibre* fibre) {
  end_switch(nullptr, &fibre->callers_bottom_, &fibre->callers_size_);
  fibre->function_(fibre->argument_);
  fibre->has_ended_ = true;
  fibre->give_way();
  fail("a fibre that has ended was resumed");
}

}  // namespace onnxc::host_blocks
