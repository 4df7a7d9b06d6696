#include "passes/lowering/sub_byte.h"

#include "ops/nest_builder.h"

namespace onnxc {
namespace {

constexpr DType byte = DType::uint8;

Operand operand(const Program& program, BufferId id) {
  return {id, program.buffer(id).dtype, program.buffer(id).shape};
}

int64_t elements_in_a_byte(DType dtype) { return 8 / info(dtype).bits; }

// Between an element and its bits, the lowest ones of a byte. A cast to an integer of less than a byte keeps them.
Scalar element_of_bits(DType dtype, const Scalar& bits) {
  return is_floating(dtype) ? scalar::reinterpret(dtype, scalar::cast(DType::uint4, bits)) : scalar::cast(dtype, bits);
}
Scalar bits_of_element(const Scalar& element) {
  return scalar::cast(byte, is_floating(element.dtype()) ? scalar::reinterpret(DType::uint4, element) : element);
}

BufferId add_bytes(Program& program, BufferId elements, BufferKind kind) {
  const Buffer of = program.buffer(elements);
  Buffer bytes;
  bytes.name = of.name;
  bytes.dtype = byte;
  bytes.kind = kind;
  bytes.shape = {ceil_div(product(of.shape), elements_in_a_byte(of.dtype))};
  bytes.layout = Layout::row_major(1);
  bytes.packs = Buffer::Elements{of.dtype, of.shape};
  return program.add(std::move(bytes));
}

void add_step(Program& program, NestBuilder& nest, BufferId elements, const char* type) {
  program.steps.push_back({nest.take(), {{program.buffer(elements).name, type, "", 0}}});
}

}  // namespace

BufferId unpack_input(Program& program, BufferId elements) {
  const BufferId bytes = add_bytes(program, elements, BufferKind::input);
  const Operand from = operand(program, bytes), to = operand(program, elements);
  const int64_t in_a_byte = elements_in_a_byte(to.dtype);
  NestBuilder nest("unpack");
  const std::vector<Expr> indices = nest.parallel(to.shape);
  const Expr position = Layout::row_major(to.rank()).offset(to.shape, indices);
  const Expr first_bit = mod(position, in_a_byte) * info(to.dtype).bits;
  const Scalar shifted = scalar::binary(ScalarOp::shift_right, from({floor_div(position, in_a_byte)}),
                                        scalar::cast(byte, scalar::index(first_bit)));
  nest.store(to, indices, element_of_bits(to.dtype, shifted));
  add_step(program, nest, elements, "Unpack");
  return bytes;
}

BufferId pack_output(Program& program, BufferId elements) {
  const BufferId bytes = add_bytes(program, elements, BufferKind::output);
  const Operand from = operand(program, elements), to = operand(program, bytes);
  const int bits = info(from.dtype).bits;
  NestBuilder nest("pack");
  const Expr index = nest.parallel(to.shape.front());
  auto number = [](int64_t value) { return scalar::integer_constant(byte, value); };
  Scalar packed;
  for (int64_t i = 0; i < elements_in_a_byte(from.dtype); ++i) {
    const Expr position = index * elements_in_a_byte(from.dtype) + i;
    const Scalar element = bits_of_element(from(unflatten(from.shape, position)));
    const Scalar low = scalar::binary(ScalarOp::bitwise_and, element, number((1 << bits) - 1));
    if (i == 0) {
      packed = low;
      continue;
    }
    const Scalar placed = scalar::binary(ScalarOp::shift_left, low, number(i * bits));
    const Scalar present = scalar::select(less(position, product(from.shape)), placed, number(0));
    packed = scalar::binary(ScalarOp::bitwise_or, packed, present);
  }
  nest.store(to, {index}, packed);
  add_step(program, nest, elements, "Pack");
  return bytes;
}

}  // namespace onnxc
