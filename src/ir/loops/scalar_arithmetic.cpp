#include "ir/loops/scalar_arithmetic.h"

#include <Eigen/Core>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <type_traits>

#include "ir/dtype_visit.h"
#include "kernels/shared/random_bits.h"

namespace onnxc {
namespace {

// The type that arithmetic on T is done in.
template <class T>
struct ComputeType {
  using type = T;
};
template <>
struct ComputeType<Eigen::half> {
  using type = float;
};
template <>
struct ComputeType<Eigen::bfloat16> {
  using type = float;
};
template <kernels::SmallFormat format>
struct ComputeType<kernels::SmallFloat<format>> {
  using type = float;
};
template <>
struct ComputeType<kernels::float8e8m0_t> {
  using type = float;
};
template <class Value, int width>
struct ComputeType<kernels::SmallInteger<Value, width>> {
  using type = Value;
};
template <class T>
using Compute = typename ComputeType<T>::type;

template <class T>
concept Floating = std::floating_point<Compute<T>>;
// A floating type of fewer bits than the one that arithmetic is done in.
template <class T>
concept NarrowFloating = Floating<T> && !std::floating_point<T>;
// bool is an integral type of C++, but no number here.
template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;
// Integers of less than a byte: ONNX has no arithmetic on them, only casts.
template <class T>
concept SmallInteger = !Floating<T> && !std::integral<T>;

template <class T>
Compute<T> get(ScalarValue value) {
  if constexpr (Floating<T>)
    return static_cast<Compute<T>>(value.number);
  else
    return static_cast<Compute<T>>(value.integer);
}

template <class T>
ScalarValue make(Compute<T> value) {
  ScalarValue result;
  if constexpr (Floating<T>)
    result.number = static_cast<double>(value);
  else
    result.integer = static_cast<int64_t>(value);
  return result;
}

// Saturating, truncating; NaN gives 0.
template <Integer To>
To truncate_to(double value) {
  if (std::isnan(value)) return 0;
  // The bounds as doubles: the maximum of a 64-bit type rounds up to a power of two, so it is compared with >=.
  constexpr auto minimum = static_cast<double>(std::numeric_limits<To>::min());
  constexpr auto maximum = static_cast<double>(std::numeric_limits<To>::max());
  if (value <= minimum) return std::numeric_limits<To>::min();
  if (value >= maximum) return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

// The neighbouring float whose last bit is 1, if the value is not a float itself: rounded once more to a half type, it
// gives what rounding the value itself would give.
float round_to_odd(long double value) {
  auto nearest = static_cast<float>(value);
  if (!std::isfinite(nearest) || static_cast<long double>(nearest) == value) return nearest;
  auto bits = std::bit_cast<uint32_t>(nearest);
  if ((bits & 1) == 0) bits += std::fabs(value) > std::fabs(static_cast<long double>(nearest)) ? 1 : -1;
  return std::bit_cast<float>(bits);
}

template <class To, class From>
ScalarValue convert(ScalarValue value) {
  Compute<From> from = get<From>(value);
  if constexpr (std::same_as<To, bool>)
    return make<bool>(from != Compute<From>(0));
  else if constexpr (NarrowFloating<To>)
    return make<To>(static_cast<float>(To(round_to_odd(from))));
  else if constexpr (SmallInteger<To> && Floating<From>)
    return make<To>(To(truncate_to<int64_t>(static_cast<double>(from))));
  else if constexpr (SmallInteger<To>)
    return make<To>(To(static_cast<int64_t>(from)));
  else if constexpr (Integer<To> && Floating<From>)
    return make<To>(truncate_to<To>(static_cast<double>(from)));
  else
    return make<To>(static_cast<To>(from));
}

template <class To, class From>
ScalarValue keep_bits(ScalarValue value) {
  const From from = From(get<From>(value));
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return make<To>(static_cast<Compute<To>>(to));
}

// Integers wrap: computed without sign, cut to the width by the conversion.
template <Integer T>
T wrap(uint64_t value) {
  return static_cast<T>(value);
}

template <Integer T>
T integer_divide(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return wrap<T>(0 - static_cast<uint64_t>(a));
  return static_cast<T>(a / b);
}

template <Integer T>
T integer_modulo(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return 0;
  return static_cast<T>(a % b);
}

template <Integer T>
T integer_power(T base, T exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == T(-1) ? ((exponent & 1) != 0 ? T(-1) : T(1)) : T(0);
  uint64_t result = 1, factor = static_cast<uint64_t>(base);
  for (auto rest = static_cast<uint64_t>(exponent); rest != 0; rest >>= 1, factor *= factor)
    if ((rest & 1) != 0) result *= factor;
  return wrap<T>(result);
}

template <Integer T>
bool shifts_out(T count) {
  return count < 0 || static_cast<uint64_t>(count) >= 8 * sizeof(T);
}

template <class T>
T modulo_floor(T a, T b) {
  T remainder;
  if constexpr (Integer<T>)
    remainder = integer_modulo(a, b);
  else
    remainder = std::fmod(a, b);
  return remainder != 0 && (remainder < 0) != (b < 0) ? static_cast<T>(remainder + b) : remainder;
}

template <class T>
T minimum(T a, T b) {
  return a < b || a != a ? a : b;
}

template <class T>
T maximum(T a, T b) {
  return a > b || a != a ? a : b;
}

// A NaN has no sign: 0, as in PyTorch and onnxruntime.
template <class T>
T sign(T a) {
  return static_cast<T>((a > 0) - (a < 0));
}

// The elementary functions are computed in double and rounded once: at least as exact as any target's float version.
template <class T, double (*function)(double)>
ScalarValue elementary(ScalarValue value) {
  return make<T>(static_cast<Compute<T>>(function(static_cast<double>(get<T>(value)))));
}

template <Floating T>
UnaryFunction floating_unary(ScalarOp op) {
  switch (op) {
    case ScalarOp::exponential:
      return elementary<T, std::exp>;
    case ScalarOp::logarithm:
      return elementary<T, std::log>;
    case ScalarOp::square_root:
      return elementary<T, std::sqrt>;
    case ScalarOp::reciprocal:
      return [](ScalarValue a) { return make<T>(Compute<T>(1) / get<T>(a)); };
    case ScalarOp::floor:
      return elementary<T, std::floor>;
    case ScalarOp::ceil:
      return elementary<T, std::ceil>;
    case ScalarOp::round_even:
      return elementary<T, std::nearbyint>;
    case ScalarOp::truncate:
      return elementary<T, std::trunc>;
    case ScalarOp::sine:
      return elementary<T, std::sin>;
    case ScalarOp::cosine:
      return elementary<T, std::cos>;
    case ScalarOp::tangent:
      return elementary<T, std::tan>;
    case ScalarOp::arc_sine:
      return elementary<T, std::asin>;
    case ScalarOp::arc_cosine:
      return elementary<T, std::acos>;
    case ScalarOp::arc_tangent:
      return elementary<T, std::atan>;
    case ScalarOp::hyperbolic_sine:
      return elementary<T, std::sinh>;
    case ScalarOp::hyperbolic_cosine:
      return elementary<T, std::cosh>;
    case ScalarOp::hyperbolic_tangent:
      return elementary<T, std::tanh>;
    case ScalarOp::arc_hyperbolic_sine:
      return elementary<T, std::asinh>;
    case ScalarOp::arc_hyperbolic_cosine:
      return elementary<T, std::acosh>;
    case ScalarOp::arc_hyperbolic_tangent:
      return elementary<T, std::atanh>;
    case ScalarOp::error_function:
      return elementary<T, std::erf>;
    case ScalarOp::is_nan:
      return [](ScalarValue a) { return make<bool>(std::isnan(get<T>(a))); };
    case ScalarOp::is_infinite:
      return [](ScalarValue a) { return make<bool>(std::isinf(get<T>(a))); };
    default:
      return nullptr;
  }
}

template <class T>
UnaryFunction find_unary(ScalarOp op) {
  if constexpr (std::same_as<T, bool>) {
    if (op == ScalarOp::logical_not) return [](ScalarValue a) { return make<bool>(!get<bool>(a)); };
    return nullptr;
  } else if constexpr (SmallInteger<T>) {
    return nullptr;
  } else {
    switch (op) {
      case ScalarOp::negate:
        return [](ScalarValue a) {
          if constexpr (Integer<T>)
            return make<T>(wrap<T>(0 - static_cast<uint64_t>(get<T>(a))));
          else
            return make<T>(-get<T>(a));
        };
      case ScalarOp::absolute:
        return [](ScalarValue a) {
          if constexpr (Integer<T>)
            return make<T>(get<T>(a) < 0 ? wrap<T>(0 - static_cast<uint64_t>(get<T>(a))) : get<T>(a));
          else
            return make<T>(std::fabs(get<T>(a)));
        };
      case ScalarOp::sign:
        return [](ScalarValue a) { return make<T>(sign(get<T>(a))); };
      case ScalarOp::bitwise_not:
        if constexpr (Integer<T>) return [](ScalarValue a) { return make<T>(static_cast<T>(~get<T>(a))); };
        return nullptr;
      default:
        if constexpr (Floating<T>) return floating_unary<T>(op);
        return nullptr;
    }
  }
}

BinaryFunction boolean_binary(ScalarOp op) {
  switch (op) {
    case ScalarOp::equal:
      return [](ScalarValue a, ScalarValue b) { return make<bool>(get<bool>(a) == get<bool>(b)); };
    case ScalarOp::logical_and:
      return [](ScalarValue a, ScalarValue b) { return make<bool>(get<bool>(a) && get<bool>(b)); };
    case ScalarOp::logical_or:
      return [](ScalarValue a, ScalarValue b) { return make<bool>(get<bool>(a) || get<bool>(b)); };
    case ScalarOp::logical_xor:
      return [](ScalarValue a, ScalarValue b) { return make<bool>(get<bool>(a) != get<bool>(b)); };
    default:
      return nullptr;
  }
}

template <Integer T>
BinaryFunction integer_binary(ScalarOp op) {
  auto bits = []<class Operation>(Operation) -> BinaryFunction {
    return [](ScalarValue a, ScalarValue b) {
      return make<T>(wrap<T>(Operation()(static_cast<uint64_t>(get<T>(a)), static_cast<uint64_t>(get<T>(b)))));
    };
  };
  switch (op) {
    case ScalarOp::add:
      return bits(std::plus<uint64_t>());
    case ScalarOp::subtract:
      return bits(std::minus<uint64_t>());
    case ScalarOp::multiply:
      return bits(std::multiplies<uint64_t>());
    case ScalarOp::bitwise_and:
      return bits(std::bit_and<uint64_t>());
    case ScalarOp::bitwise_or:
      return bits(std::bit_or<uint64_t>());
    case ScalarOp::bitwise_xor:
      return bits(std::bit_xor<uint64_t>());
    case ScalarOp::divide:
      return [](ScalarValue a, ScalarValue b) { return make<T>(integer_divide(get<T>(a), get<T>(b))); };
    case ScalarOp::modulo_truncate:
      return [](ScalarValue a, ScalarValue b) { return make<T>(integer_modulo(get<T>(a), get<T>(b))); };
    case ScalarOp::power:
      return [](ScalarValue a, ScalarValue b) { return make<T>(integer_power(get<T>(a), get<T>(b))); };
    case ScalarOp::shift_left:
      return [](ScalarValue a, ScalarValue b) {
        T count = get<T>(b);
        return make<T>(shifts_out(count) ? T(0) : wrap<T>(static_cast<uint64_t>(get<T>(a)) << count));
      };
    case ScalarOp::shift_right:
      return [](ScalarValue a, ScalarValue b) {
        T count = get<T>(b);
        return make<T>(shifts_out(count) ? T(0) : static_cast<T>(get<T>(a) >> count));
      };
    case ScalarOp::random_bits:
      if constexpr (std::same_as<T, uint64_t>)
        return [](ScalarValue a, ScalarValue b) { return make<T>(kernels::random_bits(get<T>(a), get<T>(b))); };
      return nullptr;
    default:
      return nullptr;
  }
}

template <Floating T>
BinaryFunction floating_binary(ScalarOp op) {
  switch (op) {
    case ScalarOp::add:
      return [](ScalarValue a, ScalarValue b) { return make<T>(get<T>(a) + get<T>(b)); };
    case ScalarOp::subtract:
      return [](ScalarValue a, ScalarValue b) { return make<T>(get<T>(a) - get<T>(b)); };
    case ScalarOp::multiply:
      return [](ScalarValue a, ScalarValue b) { return make<T>(get<T>(a) * get<T>(b)); };
    case ScalarOp::divide:
      return [](ScalarValue a, ScalarValue b) { return make<T>(get<T>(a) / get<T>(b)); };
    case ScalarOp::modulo_truncate:
      return [](ScalarValue a, ScalarValue b) { return make<T>(std::fmod(get<T>(a), get<T>(b))); };
    case ScalarOp::power:
      return
          [](ScalarValue a, ScalarValue b) { return make<T>(static_cast<Compute<T>>(std::pow(a.number, b.number))); };
    default:
      return nullptr;
  }
}

template <class T>
BinaryFunction find_binary(ScalarOp op) {
  if constexpr (std::same_as<T, bool>) {
    return boolean_binary(op);
  } else if constexpr (SmallInteger<T>) {
    return nullptr;
  } else {
    switch (op) {
      case ScalarOp::modulo_floor:
        return [](ScalarValue a, ScalarValue b) { return make<T>(modulo_floor(get<T>(a), get<T>(b))); };
      case ScalarOp::minimum:
        return [](ScalarValue a, ScalarValue b) { return make<T>(minimum(get<T>(a), get<T>(b))); };
      case ScalarOp::maximum:
        return [](ScalarValue a, ScalarValue b) { return make<T>(maximum(get<T>(a), get<T>(b))); };
      case ScalarOp::equal:
        return [](ScalarValue a, ScalarValue b) { return make<bool>(get<T>(a) == get<T>(b)); };
      case ScalarOp::less:
        return [](ScalarValue a, ScalarValue b) { return make<bool>(get<T>(a) < get<T>(b)); };
      case ScalarOp::less_or_equal:
        return [](ScalarValue a, ScalarValue b) { return make<bool>(get<T>(a) <= get<T>(b)); };
      default:
        if constexpr (Floating<T>)
          return floating_binary<T>(op);
        else
          return integer_binary<T>(op);
    }
  }
}

}  // namespace

UnaryFunction unary_function(ScalarOp op, DType operand) {
  UnaryFunction function = with_type(operand, [&]<class T>() { return find_unary<T>(op); });
  internal_check(function != nullptr, "a unary operation that has a meaning on its operand's dtype");
  return function;
}

BinaryFunction binary_function(ScalarOp op, DType operand) {
  BinaryFunction function = with_type(operand, [&]<class T>() { return find_binary<T>(op); });
  internal_check(function != nullptr, "a binary operation that has a meaning on its operands' dtype");
  return function;
}

UnaryFunction cast_function(DType to, DType from) {
  return with_type(
      to, [&]<class To>() { return with_type(from, []<class From>() -> UnaryFunction { return convert<To, From>; }); });
}

UnaryFunction reinterpret_function(DType to, DType from) {
  UnaryFunction function = with_type(to, [&]<class To>() {
    return with_type(from, []<class From>() -> UnaryFunction {
      if constexpr (sizeof(To) == sizeof(From)) return keep_bits<To, From>;
      return nullptr;
    });
  });
  internal_check(function != nullptr, "types of one size");
  return function;
}

LoadFunction load_function(DType dtype) {
  return with_type(dtype, []<class T>() -> LoadFunction {
    return [](const std::byte* from) {
      if constexpr (std::same_as<T, bool>) {
        return make<bool>(*from != std::byte{0});
      } else {
        T value;
        std::memcpy(&value, from, sizeof(T));
        return make<T>(static_cast<Compute<T>>(value));
      }
    };
  });
}

StoreFunction store_function(DType dtype) {
  return with_type(dtype, []<class T>() -> StoreFunction {
    return [](std::byte* to, ScalarValue value) {
      T stored = T(get<T>(value));
      std::memcpy(to, &stored, sizeof(T));
    };
  });
}

}  // namespace onnxc
