// A fusion is asked only about chains of the kernels that it names, in their order.
#include "codegen/call/typed_call.h"

#include <gtest/gtest.h>

namespace onnxc {
namespace {

class NamedSpec : public KernelSpec {
 public:
  explicit NamedSpec(std::string name) : name_(std::move(name)) {}
  std::string describe() const override { return name_; }
  KernelOperands operands() const override { return {}; }
  bool accepts_views() const override { return false; }

 private:
  std::string name_;
};
struct ProductSpec : NamedSpec {
  using NamedSpec::NamedSpec;
};
struct NarrowProductSpec : ProductSpec {
  using ProductSpec::ProductSpec;
};
struct SoftmaxSpec : NamedSpec {
  using NamedSpec::NamedSpec;
};

template <class Spec>
KernelCall call_of(std::string name) {
  KernelCall call;
  call.spec = std::make_shared<Spec>(std::move(name));
  return call;
}

// The specs of the chain, as the fusion saw them; empty if it was not asked.
std::string seen(const std::vector<KernelCall>& calls) {
  std::string text;
  const Fusion fusion = fusion_of<ProductSpec, SoftmaxSpec>(
      "both", [&](Program&, const TypedCall<ProductSpec>& product, const TypedCall<SoftmaxSpec>& softmax) {
        EXPECT_EQ(product.shared_spec().get(), product.call.spec.get());
        text = product.spec.describe() + ", " + softmax.spec.describe();
        return std::optional(softmax.call);
      });
  EXPECT_EQ(fusion.calls, 2U);
  std::vector<const KernelCall*> chain;
  for (const KernelCall& call : calls) chain.push_back(&call);
  Program program;
  EXPECT_EQ(fusion.fuse(program, chain).has_value(), !text.empty());
  return text;
}

TEST(TypedCall, AFusionSeesTheSpecsThatItNames) {
  EXPECT_EQ(seen({call_of<ProductSpec>("a"), call_of<SoftmaxSpec>("b")}), "a, b");
  EXPECT_EQ(seen({call_of<NarrowProductSpec>("c"), call_of<SoftmaxSpec>("b")}), "c, b");
}

TEST(TypedCall, AFusionIsNotAskedAboutOthers) {
  EXPECT_EQ(seen({call_of<SoftmaxSpec>("b"), call_of<ProductSpec>("a")}), "");
  EXPECT_EQ(seen({call_of<ProductSpec>("a"), call_of<ProductSpec>("a")}), "");
}

}  // namespace
}  // namespace onnxc
