// Calls as a fusion sees them: with the specs of their kernels, whose classes it names.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "passes/lowering/target.h"

namespace onnxc {

// Null for a call of another kernel.
template <class Spec>
const Spec* spec_of(const KernelCall& call) {
  return dynamic_cast<const Spec*>(call.spec.get());
}

template <class Spec>
struct TypedCall {
  const KernelCall& call;
  const Spec& spec;

  std::shared_ptr<const Spec> shared_spec() const { return std::static_pointer_cast<const Spec>(call.spec); }
};

// A fusion of calls of these kernels: fuse(program, TypedCall<Specs>...) gives the call that replaces them, or nothing.
template <class... Specs, class Fuse>
Fusion fusion_of(std::string_view name, Fuse fuse) {
  using Chain = std::span<const KernelCall* const>;
  return {.name = name,
          .calls = sizeof...(Specs),
          .fuse = [fuse](Program& program, Chain chain) -> std::optional<KernelCall> {
            return [&]<size_t... i>(std::index_sequence<i...>) -> std::optional<KernelCall> {
              const auto specs = std::tuple(spec_of<Specs>(*chain[i])...);
              if (((std::get<i>(specs) == nullptr) || ...)) return std::nullopt;
              return fuse(program, TypedCall<Specs>{*chain[i], *std::get<i>(specs)}...);
            }(std::index_sequence_for<Specs...>());
          }};
}

}  // namespace onnxc
