#include "ops/op_test.h"

namespace onnxc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ShapeOperators : public testing::Test {
 protected:
  Symbol n = Symbol::dim("N"), d = Symbol::dim("D");
  Shape shape{Expr(n), 3, Expr(d) * 2 + 1};
};

TEST_F(ShapeOperators, ShapeHasTheDimsAsElements) {
  OneNode node("Shape");
  const Value& y = node.input(DType::float32, shape).infer();
  EXPECT_EQ(y.dtype, DType::int64);
  EXPECT_THAT(*y.elements, ElementsAre(Expr(n), Expr(3), Expr(d) * 2 + 1));
  Tensor run = OneNode("Shape").input(Tensor::zeros(DType::float32, {2, 3, 9}), shape).run({{n, 2}, {d, 4}});
  EXPECT_THAT(run.as_int64(), ElementsAre(2, 3, 9));
}

TEST_F(ShapeOperators, ShapeTakesAPart) {
  auto part = [&](int64_t start, int64_t end) {
    OneNode node("Shape");
    node.input(DType::float32, {2, 3, 4}).attribute("start", start).attribute("end", end);
    return *node.infer().elements;
  };
  EXPECT_THAT(part(1, 3), ElementsAre(Expr(3), Expr(4)));
  EXPECT_THAT(part(-1, 99), ElementsAre(Expr(4)));
  EXPECT_THAT(part(-99, -2), ElementsAre(Expr(2)));
  EXPECT_THAT(part(2, 1), ElementsAre());
  OneNode empty("Shape");
  empty.input(Tensor::zeros(DType::float32, {2})).attribute("start", int64_t{1});
  EXPECT_EQ(empty.run().size(), 0);
}

TEST_F(ShapeOperators, SizeIsTheProduct) {
  OneNode node("Size");
  EXPECT_EQ(node.input(DType::float32, shape).infer().elements->at(0), Expr(n) * 3 * (Expr(d) * 2 + 1));
  EXPECT_THAT(OneNode("Size").input(Tensor::zeros(DType::float32, {2, 3})).run().as_int64(), ElementsAre(6));
}

TEST_F(ShapeOperators, ConstantOfShapeFillsAShape) {
  OneNode node("ConstantOfShape");
  node.elements({Expr(n), 2}).attribute("value", int64s({1}, {7}));
  EXPECT_EQ(*node.infer().shape, (Shape{Expr(n), 2}));
  EXPECT_THAT(node.run({{n, 2}}).as_int64(), ElementsAre(7, 7, 7, 7));
  Tensor zeros = OneNode("ConstantOfShape").constant(int64s({1}, {2})).run();
  EXPECT_EQ(zeros.dtype(), DType::float32);
  EXPECT_THAT(numbers(zeros), ElementsAre(0, 0));
  EXPECT_EQ(OneNode("ConstantOfShape").constant(int64s({0}, {})).run().dims().size(), 0U);
}

TEST_F(ShapeOperators, ConstantOfShapeRefusesWhatIsNoShape) {
  EXPECT_THAT(OneNode("ConstantOfShape").constant(int64s({1}, {-2})).error(), HasSubstr("-2 is less than 0"));
  EXPECT_THAT(OneNode("ConstantOfShape").input(DType::int64, {Expr(n)}).error(),
              HasSubstr("'x0', dims) has shape [N]: how many values it has must be known"));
  EXPECT_THAT(OneNode("ConstantOfShape").constant(int64s({1}, {2})).attribute("value", int64s({2}, {1, 2})).error(),
              HasSubstr("attribute 'value' must hold one element, found 2"));
}

TEST_F(ShapeOperators, SizesFromDataAreSymbols) {
  OneNode constant("ConstantOfShape");
  EXPECT_EQ(to_string(*constant.input(DType::int64, {2}).infer().shape), "[x0_0, x0_1]");
  OneNode range("Range");
  range.constant(int64s({}, {0})).input(DType::int64, {}).constant(int64s({}, {2}));
  EXPECT_EQ(to_string(*range.infer().shape), "[y0_dim0]");
}

TEST_F(ShapeOperators, RangeCountsIntegers) {
  auto range = [](int64_t start, int64_t limit, int64_t delta) {
    return OneNode("Range")
        .constant(int64s({}, {start}))
        .constant(int64s({}, {limit}))
        .constant(int64s({}, {delta}))
        .run()
        .as_int64();
  };
  EXPECT_THAT(range(0, 5, 2), ElementsAre(0, 2, 4));
  EXPECT_THAT(range(10, 4, -2), ElementsAre(10, 8, 6));
  EXPECT_THAT(range(10, 4, -4), ElementsAre(10, 6));
  EXPECT_THAT(range(3, 3, 1), ElementsAre());
  EXPECT_THAT(range(4, 3, 1), ElementsAre());
}

TEST_F(ShapeOperators, RangeCountsToASymbol) {
  OneNode node("Range");
  node.constant(int64s({1}, {0})).elements({Expr(n) * 2}).constant(int64s({1}, {2}));
  EXPECT_EQ(*node.infer().shape, (Shape{Expr(n)}));
}

TEST_F(ShapeOperators, RangeCountsFloatingNumbers) {
  Tensor y =
      OneNode("Range").constant(float32s({}, {0})).constant(float32s({}, {1})).constant(float32s({}, {0.25})).run();
  EXPECT_THAT(numbers(y), ElementsAre(0, 0.25, 0.5, 0.75));
}

TEST_F(ShapeOperators, RangeRefusesWhatItCannotCount) {
  Tensor zero = int64s({}, {0}), one = int64s({}, {1});
  EXPECT_THAT(OneNode("Range").constant(zero).constant(one).constant(zero).error(),
              HasSubstr("input 2 (delta) must not be 0"));
}

TEST_F(ShapeOperators, EyeLikeHasOnesOnADiagonal) {
  Tensor x = Tensor::zeros(DType::float32, {2, 3});
  EXPECT_THAT(numbers(OneNode("EyeLike").input(x).run()), ElementsAre(1, 0, 0, 0, 1, 0));
  EXPECT_THAT(numbers(OneNode("EyeLike").input(x).attribute("k", int64_t{-1}).run()), ElementsAre(0, 0, 0, 1, 0, 0));
  OneNode integers("EyeLike");
  integers.input(x).attribute("k", int64_t{1}).attribute("dtype", static_cast<int64_t>(DType::int64));
  EXPECT_THAT(integers.run().as_int64(), ElementsAre(0, 1, 0, 0, 0, 1));
  EXPECT_THAT(OneNode("EyeLike").input(DType::float32, {2}).error(), HasSubstr("must be a matrix, found [2]"));
}

}  // namespace
}  // namespace onnxc
