// The kernels of one source as a table by name, for a driver that launches them on the host. The source comes before.
#pragma once

#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "block.h"

namespace onnxc::host_blocks {

template <auto kernel>
struct HostKernel;

template <class... Parameters, void (*kernel)(Parameters...)>
struct HostKernel<kernel> {
  // `arguments` are the addresses of the parameters, as cuLaunchKernel takes them.
  static void launch(uint32_t blocks, uint32_t threads, void** arguments) {
    run_blocks(blocks, threads, {[](void* places) { call(static_cast<void**>(places), Indices()); }, arguments});
  }

 private:
  using Indices = std::index_sequence_for<Parameters...>;
  template <size_t... index>
  static void call(void** arguments, std::index_sequence<index...>) {
    kernel(*static_cast<std::remove_reference_t<Parameters>*>(arguments[index])...);
  }
};

struct KernelRow {
  const char* name;
  void (*launch)(uint32_t blocks, uint32_t threads, void** arguments);
};

template <size_t count>
void launch_by_name(const KernelRow (&rows)[count], const char* name, uint32_t blocks, uint32_t threads,
                    uint32_t launch_bytes, void** arguments) {
  ask_for_memory(launch_bytes);
  for (const KernelRow& row : rows)
    if (std::strcmp(row.name, name) == 0) return row.launch(blocks, threads, arguments);
  fail("the source has no kernel %s", name);
}

}  // namespace onnxc::host_blocks
