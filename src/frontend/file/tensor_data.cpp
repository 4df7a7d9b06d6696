#include "frontend/file/tensor_data.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "frontend/file/external_data.h"
#include "frontend/file/onnx_names.h"
#include "support/checked.h"
#include "support/count_text.h"
#include "support/diagnostics.h"
#include "support/list_text.h"
#include "support/text.h"

namespace onnxc {

struct TensorReader::Header {
  DType dtype;
  std::vector<int64_t> dims;
  int64_t count;  // elements
  int64_t bytes;  // in the file
};

namespace {

using onnx::TensorProto;

std::string dims_text(const std::vector<int64_t>& dims) { return "[" + list_text(dims) + "]"; }

// The name of each field that holds elements and has some.
std::vector<std::string_view> filled_fields(const TensorProto& tensor) {
  std::vector<std::string_view> fields;
  if (tensor.has_raw_data()) fields.push_back("raw_data");
  if (tensor.float_data_size() != 0) fields.push_back("float_data");
  if (tensor.int32_data_size() != 0) fields.push_back("int32_data");
  if (tensor.string_data_size() != 0) fields.push_back("string_data");
  if (tensor.int64_data_size() != 0) fields.push_back("int64_data");
  if (tensor.double_data_size() != 0) fields.push_back("double_data");
  if (tensor.uint64_data_size() != 0) fields.push_back("uint64_data");
  return fields;
}

// The field in which ONNX puts elements of a type that are not raw.
std::string_view typed_field(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return "float_data";
    case DType::float64:
      return "double_data";
    case DType::int64:
      return "int64_data";
    case DType::uint32:
    case DType::uint64:
      return "uint64_data";
    case DType::string:
      return "string_data";
    default:
      return "int32_data";
  }
}

// Copies the elements of a typed field, narrowed to the type they have.
template <class Stored, class Field>
Tensor copy_elements(const Field& field, DType dtype, const std::vector<int64_t>& dims, const std::string& what) {
  using Element = typename Field::value_type;
  Tensor tensor = Tensor::zeros(dtype, dims);
  auto* destination = reinterpret_cast<Stored*>(tensor.mutable_bytes());
  for (Element element : field) {
    if constexpr (sizeof(Stored) < sizeof(Element)) {
      // As many bits as the type has, read as signed or unsigned: half types are stored as their bits.
      constexpr auto modulus = static_cast<int64_t>(std::numeric_limits<std::make_unsigned_t<Stored>>::max()) + 1;
      user_check(element < static_cast<Element>(modulus) &&
                     (std::is_unsigned_v<Element> || static_cast<int64_t>(element) >= -modulus / 2),
                 "{}: the value {} does not fit in its type {}", what, element, info(dtype).name);
    }
    *destination++ = static_cast<Stored>(element);
  }
  return tensor;
}

Tensor copy_typed_field(const TensorProto& tensor, DType dtype, const std::vector<int64_t>& dims,
                        const std::string& what) {
  switch (dtype) {
    case DType::float32:
      return copy_elements<float>(tensor.float_data(), dtype, dims, what);
    case DType::float64:
      return copy_elements<double>(tensor.double_data(), dtype, dims, what);
    case DType::int64:
      return copy_elements<int64_t>(tensor.int64_data(), dtype, dims, what);
    case DType::uint64:
      return copy_elements<uint64_t>(tensor.uint64_data(), dtype, dims, what);
    case DType::uint32:
      return copy_elements<uint32_t>(tensor.uint64_data(), dtype, dims, what);
    case DType::int32:
      return copy_elements<int32_t>(tensor.int32_data(), dtype, dims, what);
    default:
      break;
  }
  if (is_sub_byte(dtype)) {  // the field has bytes, each of several elements
    const std::vector<int64_t> bytes{packed_size(dtype, checked_product(dims))};
    return unpack(dtype, dims, copy_elements<uint8_t>(tensor.int32_data(), DType::uint8, bytes, what).bytes());
  }
  if (element_size(dtype) == 2) return copy_elements<uint16_t>(tensor.int32_data(), dtype, dims, what);
  return copy_elements<uint8_t>(tensor.int32_data(), dtype, dims, what);
}

int64_t typed_field_size(const TensorProto& tensor, std::string_view field) {
  if (field == "float_data") return tensor.float_data_size();
  if (field == "double_data") return tensor.double_data_size();
  if (field == "int64_data") return tensor.int64_data_size();
  if (field == "uint64_data") return tensor.uint64_data_size();
  if (field == "string_data") return tensor.string_data_size();
  return tensor.int32_data_size();
}

// A tensor over bytes that somebody else owns, or over a copy if they cannot be used as they lie: elements that are not
// aligned or packed, and booleans that are neither 0 nor 1.
Tensor adopt(DType dtype, const std::vector<int64_t>& dims, std::span<const std::byte> bytes,
             std::shared_ptr<const void> owner) {
  if (is_sub_byte(dtype)) return unpack(dtype, dims, bytes);
  const auto is_boolean = [](std::byte b) { return b <= std::byte{1}; };
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % static_cast<uintptr_t>(element_size(dtype)) == 0;
  const bool valid = dtype != DType::boolean || std::ranges::all_of(bytes, is_boolean);
  if (aligned && valid) return Tensor(dtype, dims, bytes, std::move(owner));
  Tensor copy = Tensor::zeros(dtype, dims);
  std::ranges::copy(bytes, copy.mutable_bytes());
  if (!valid) {
    for (size_t i = 0; i < bytes.size(); ++i) copy.mutable_bytes()[i] = std::byte{bytes[i] != std::byte{0}};
  }
  return copy;
}

std::vector<int64_t> read_dims(const google::protobuf::RepeatedField<int64_t>& field, const std::string& what,
                               const Limits& limits) {
  user_check(field.size() <= limits.max_rank, "{}: it has {}; at most {} are allowed", what,
             counted(field.size(), "axis"), limits.max_rank);
  std::vector<int64_t> dims(field.begin(), field.end());
  for (size_t i = 0; i < dims.size(); ++i)
    user_check(dims[i] >= 0, "{}: its dim {} is {}; dims cannot be negative", what, i, dims[i]);
  return dims;
}

int64_t count_bytes(const std::vector<int64_t>& dims, int64_t element_size, const std::string& what) {
  int64_t bytes = element_size;
  if (std::ranges::find(dims, 0) != dims.end()) return 0;
  for (int64_t dim : dims)
    user_check(!__builtin_mul_overflow(bytes, dim, &bytes), "{}: the size of its shape {} does not fit in 64 bits",
               what, dims_text(dims));
  return bytes;
}

}  // namespace

void TensorReader::check_memory(int64_t bytes, const std::string& what) {
  user_check(bytes <= limits_.max_memory, "{}: it needs {} bytes, and the limit is {} (--max-memory)", what, bytes,
             limits_.max_memory);
  user_check(bytes <= limits_.max_memory - bytes_read_,
             "{}: it needs {} bytes, the tensors before it {}, and the limit is {} (--max-memory)", what, bytes,
             bytes_read_, limits_.max_memory);
  bytes_read_ += bytes;
}

TensorReader::Header TensorReader::read_header(const TensorProto& tensor, const std::string& what) {
  const DTypeInfo* row = find_dtype(tensor.data_type());
  user_check(row != nullptr && row->dtype != DType::undefined, "{}: its element type {} is not supported", what,
             element_type_name(tensor.data_type()));
  user_check(!tensor.has_segment(), "{}: tensors in segments are not supported", what);
  std::vector<int64_t> dims = read_dims(tensor.dims(), what, limits_);
  const int64_t size = element_size(row->dtype), bytes = count_bytes(dims, size, what), count = bytes / size;
  check_memory(bytes, what);
  return {row->dtype, std::move(dims), count, packed_size(row->dtype, count)};
}

Tensor TensorReader::read(const TensorProto& tensor, const std::string& what,
                          const std::shared_ptr<const void>& owner) {
  const Header header = read_header(tensor, what);
  const std::vector<std::string_view> fields = filled_fields(tensor);
  const bool has_bytes = tensor.data_location() == TensorProto::EXTERNAL || tensor.has_raw_data();
  user_check(header.dtype != DType::string || !has_bytes, "{}: strings belong in string_data, found {}", what,
             tensor.has_raw_data() ? "raw_data" : "external data");
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    user_check(fields.empty(), "{}: its data is external, and yet {} has some too", what, fmt::join(fields, ", "));
    return read_external(tensor, header, what);
  }
  user_check(tensor.external_data_size() == 0, "{}: it names external data, but its data_location is not EXTERNAL",
             what);
  user_check(fields.size() <= 1, "{}: its data is given more than once, as {}", what, fmt::join(fields, ", "));

  if (tensor.has_raw_data()) {
    const std::string& raw = tensor.raw_data();
    user_check(raw.size() == static_cast<uint64_t>(header.bytes), "{}: shape {} of {} needs {} bytes of data, found {}",
               what, dims_text(header.dims), info(header.dtype).name, header.bytes, raw.size());
    return adopt(header.dtype, header.dims, std::as_bytes(std::span(raw)), owner);
  }
  const std::string_view expected = typed_field(header.dtype);
  user_check(fields.empty() || fields[0] == expected, "{}: elements of type {} belong in {}, found in {}", what,
             info(header.dtype).name, expected, fmt::join(fields, ", "));
  const int64_t found = typed_field_size(tensor, expected);
  const int64_t needed = is_sub_byte(header.dtype) ? header.bytes : header.count;
  user_check(found == needed, "{}: shape {} needs {} of data, found {}", what, dims_text(header.dims),
             counted(needed, "element"), found);
  if (header.dtype == DType::string) return read(tensor.string_data(), header.dims, what);
  Tensor copy = copy_typed_field(tensor, header.dtype, header.dims, what);
  return header.dtype == DType::boolean ? adopt(header.dtype, header.dims, copy.bytes(), std::make_shared<Tensor>(copy))
                                        : copy;
}

Tensor TensorReader::read(const google::protobuf::RepeatedPtrField<std::string>& texts, std::vector<int64_t> dims,
                          const std::string& what) {
  Tensor tensor = Tensor::zeros(DType::string, std::move(dims));
  internal_check(tensor.size() == texts.size(), "as many strings as the dims say");
  auto* handles = reinterpret_cast<int64_t*>(tensor.mutable_bytes());
  for (const std::string& text : texts) {
    check_memory(std::ssize(text), what);
    *handles++ = strings_.handle(text);
  }
  return tensor;
}

Tensor TensorReader::read_external(const TensorProto& tensor, const Header& header, const std::string& what) {
  const ExternalLocation location = read_external_location(tensor, what);
  std::shared_ptr<const MappedFile>& file = external_files_[location.file];
  try {
    if (file == nullptr) file = map_file_within(folder_, location.file, rules_);
  } catch (const UserError& error) {
    user_error("{}: external data: {}", what, error.what());
  }
  const uint64_t size = file->bytes().size();
  const auto needed = static_cast<uint64_t>(header.bytes);
  user_check(!location.length || *location.length == needed,
             "{}: shape {} of {} needs {} bytes, and its external data has length {}", what, dims_text(header.dims),
             info(header.dtype).name, needed, location.length.value_or(0));
  user_check(location.offset <= size && needed <= size - location.offset,
             "{}: its external data lies at bytes {} to {} + {} of {}, which has {} bytes", what, location.offset,
             location.offset, needed, quote(location.file), size);
  return adopt(header.dtype, header.dims, file->bytes().subspan(location.offset, needed), file);
}

Tensor TensorReader::read(const onnx::SparseTensorProto& sparse, const std::string& what,
                          const std::shared_ptr<const void>& owner) {
  const std::vector<int64_t> dims = read_dims(sparse.dims(), what, limits_);
  const Tensor values = read(sparse.values(), what + ", its values", owner);
  const Tensor indices = read(sparse.indices(), what + ", its indices", owner);
  const int64_t bytes = count_bytes(dims, element_size(values.dtype()), what);
  check_memory(bytes, what);
  // A file of a hundred bytes may ask for any size so.
  constexpr int64_t always_bytes = int64_t{1} << 26, most_growth = 1000;
  const auto given = static_cast<int64_t>(values.bytes().size() + indices.bytes().size());
  user_check(bytes <= always_bytes || bytes / most_growth <= given,
             "{}: its shape {} needs {} bytes for {} that are not 0; a sparse tensor may need {} bytes, or {} what the "
             "file holds of it",
             what, dims_text(dims), bytes, counted(values.size(), "element"), always_bytes,
             counted(most_growth, "time"));

  // Indices are [nonzeros], into the row-major elements, or [nonzeros, rank].
  const auto rank = static_cast<int64_t>(dims.size());
  const std::vector<int64_t> linear = values.dims(), by_axis = {values.size(), rank};
  user_check(values.dims().size() == 1, "{}: the values of a sparse tensor have one axis, found {}", what,
             values.dims().size());
  user_check(indices.dtype() == DType::int64 && (indices.dims() == linear || indices.dims() == by_axis),
             "{}: its indices must be int64 of shape {} or {}, found {} of shape {}", what, dims_text(linear),
             dims_text(by_axis), info(indices.dtype()).name, dims_text(indices.dims()));
  const bool is_linear = indices.dims() == linear;

  Tensor dense = Tensor::zeros(values.dtype(), dims);
  const auto size = static_cast<size_t>(element_size(values.dtype()));
  const std::span<const int64_t> all = indices.values<int64_t>();
  for (size_t i = 0; i < static_cast<size_t>(values.size()); ++i) {
    int64_t offset = is_linear ? all[i] : 0;
    for (size_t axis = 0; !is_linear && axis < dims.size(); ++axis) {
      const int64_t index = all[i * dims.size() + axis];
      user_check(index >= 0 && index < dims[axis], "{}: its index {} is {} on axis {}, outside shape {}", what, i,
                 index, axis, dims_text(dims));
      offset = offset * dims[axis] + index;
    }
    user_check(offset >= 0 && offset < dense.size(), "{}: its index {} is {}, outside shape {}", what, i, offset,
               dims_text(dims));
    std::memcpy(dense.mutable_bytes() + static_cast<size_t>(offset) * size, values.bytes().data() + i * size, size);
  }
  return dense;
}

}  // namespace onnxc
