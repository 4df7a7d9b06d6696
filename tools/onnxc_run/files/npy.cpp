#include "onnxc_run/files/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "support/text.h"

namespace onnxc {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

struct NpyType {
  std::string_view code;  // without the byte order
  DType dtype;
};

constexpr std::array types = {
    NpyType{"f4", DType::float32}, NpyType{"f8", DType::float64}, NpyType{"f2", DType::float16},
    NpyType{"i1", DType::int8},    NpyType{"i2", DType::int16},   NpyType{"i4", DType::int32},
    NpyType{"i8", DType::int64},   NpyType{"u1", DType::uint8},   NpyType{"u2", DType::uint16},
    NpyType{"u4", DType::uint32},  NpyType{"u8", DType::uint64},  NpyType{"b1", DType::boolean},
};

struct Header {
  std::string type;  // "<f4"
  bool fortran_order;
  std::vector<int64_t> shape;
};

// Reads the header's Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Header parse() {
    std::optional<std::string> type;
    std::optional<bool> fortran_order;
    std::optional<std::vector<int64_t>> shape;
    expect('{');
    while (!accept('}')) {
      std::string key = quoted();
      expect(':');
      if (key == "descr" && !type) {
        type = quoted();
      } else if (key == "fortran_order" && !fortran_order) {
        fortran_order = boolean();
      } else if (key == "shape" && !shape) {
        shape = tuple();
      } else {
        fail();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!type || !fortran_order || !shape) fail();
    return {*type, *fortran_order, *shape};
  }

 private:
  [[noreturn]] void fail() const {
    user_error("{}: the header is not one that numpy.save writes for a plain array", file_);
  }

  void skip_space() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) text_.remove_prefix(1);
  }
  bool accept(char c) {
    skip_space();
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail();
  }
  std::string quoted() {
    skip_space();
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"')) fail();
    size_t end = text_.find(text_[0], 1);
    if (end == std::string_view::npos) fail();
    std::string result(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return result;
  }
  bool boolean() {
    skip_space();
    for (auto [word, value] : {std::pair{std::string_view("True"), true}, {std::string_view("False"), false}}) {
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return value;
    }
    fail();
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> numbers;
    expect('(');
    while (!accept(')')) {
      skip_space();
      int64_t number = 0;
      auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
      if (error != std::errc() || number < 0) fail();
      text_.remove_prefix(static_cast<size_t>(end - text_.data()));
      numbers.push_back(number);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return numbers;
  }

  std::string_view text_;
  const std::string& file_;
};

DType dtype_of(const std::string& type, const std::string& file) {
  std::string_view code = std::string_view(type).substr(std::min<size_t>(1, type.size()));
  if (code == "V2") return DType::bfloat16;
  for (const NpyType& row : types)
    if (row.code == code) return row.dtype;
  user_error("{}: arrays of numpy's type {} cannot be an input", file, quote(type));
}

void swap_bytes(std::byte* data, size_t size, size_t element_size) {
  for (size_t i = 0; i + element_size <= size; i += element_size) std::reverse(data + i, data + i + element_size);
}

// The elements of a column-major array in row-major order.
Tensor from_fortran_order(const Tensor& tensor) {
  const auto size = static_cast<size_t>(element_size(tensor.dtype()));
  size_t rank = tensor.dims().size();
  std::vector<int64_t> index(rank, 0), stride(rank, 1);
  for (size_t axis = 1; axis < rank; ++axis) stride[axis] = stride[axis - 1] * tensor.dims()[axis - 1];
  Tensor result = Tensor::zeros(tensor.dtype(), tensor.dims());
  std::byte* to = result.mutable_bytes();
  for (int64_t element = 0; element < tensor.size(); ++element, to += size) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < rank; ++axis) offset += index[axis] * stride[axis];
    std::memcpy(to, tensor.bytes().data() + static_cast<size_t>(offset) * size, size);
    for (size_t axis = rank; axis-- > 0;) {
      if (++index[axis] < tensor.dims()[axis]) break;
      index[axis] = 0;
    }
  }
  return result;
}

}  // namespace

bool has_npy_type(DType dtype) {
  return std::ranges::any_of(types, [&](const NpyType& row) { return row.dtype == dtype; });
}

NpyLayout read_npy_layout(std::span<const std::byte> bytes, const std::string& file) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(text[i])); };
  user_check(text.starts_with(magic) && text.size() >= 12, "{}: this is not a .npy file", file);
  size_t version = byte(6);
  user_check(version >= 1 && version <= 3, "{}: version {} of the .npy format is not known", file, version);
  size_t start = version == 1 ? 10 : 12;
  size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  user_check(length <= text.size() - start, "{}: the file ends inside its header", file);

  Header header = HeaderParser(text.substr(start, length), file).parse();
  DType dtype = dtype_of(header.type, file);
  int64_t expected = checked_multiply(checked_product(header.shape), element_size(dtype));
  std::span<const std::byte> data = bytes.subspan(start + length);
  user_check(static_cast<int64_t>(data.size()) == expected, "{}: the shape needs {} bytes, and {} follow the header",
             file, expected, data.size());

  return {dtype, header.type[0] == '>', header.fortran_order, header.shape, start + length};
}

Tensor read_npy(std::span<const std::byte> bytes, const std::string& file) {
  const NpyLayout layout = read_npy_layout(bytes, file);
  const std::span<const std::byte> data = bytes.subspan(layout.data_offset);
  Tensor tensor = Tensor::zeros(layout.dtype, layout.dims);
  if (!data.empty()) std::memcpy(tensor.mutable_bytes(), data.data(), data.size());
  if (layout.is_swapped)
    swap_bytes(tensor.mutable_bytes(), data.size(), static_cast<size_t>(element_size(layout.dtype)));
  return layout.fortran_order ? from_fortran_order(tensor) : tensor;
}

std::string npy_header(DType dtype, std::span<const int64_t> dims) {
  auto row = std::ranges::find_if(types, [&](const NpyType& type) { return type.dtype == dtype; });
  internal_check(row != types.end(), "a type that numpy has");
  std::string shape;
  for (int64_t dim : dims) shape += fmt::format("{}, ", dim);
  if (dims.size() > 1) shape.resize(shape.size() - 2);
  if (dims.size() == 1) shape.resize(shape.size() - 1);
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   element_size(dtype) == 1 ? '|' : '<', row->code, shape);
  // The data start at a multiple of 64.
  size_t unpadded = magic.size() + 4 + header.size() + 1;
  header.append((64 - unpadded % 64) % 64, ' ');
  header += '\n';
  std::string result(magic);
  result += '\x01';
  result += '\x00';
  result += static_cast<char>(header.size() & 0xff);
  result += static_cast<char>(header.size() >> 8);
  return result + header;
}

std::string write_npy(const Tensor& tensor) {
  std::string result = npy_header(tensor.dtype(), tensor.dims());
  result.append(reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size());
  return result;
}

}  // namespace onnxc
