#include "frontend/file/tensor_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "frontend/model_helpers.h"

namespace onnxc {
namespace {

using onnx::TensorProto;
using testing::ElementsAre;
using testing::HasSubstr;

onnx::TensorProto tensor_of(int type, const std::vector<int64_t>& dims) {
  TensorProto tensor;
  tensor.set_data_type(type);
  for (int64_t dim : dims) tensor.add_dims(dim);
  return tensor;
}

template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// Reads from memory, or from the folder where the test puts external files.
class ReadTensor : public testing::Test {
 protected:
  template <class Message>
  Tensor read(const Message& message, const Limits& limits = {}) {
    TensorReader reader(folder_.path(""), limits, {}, strings_);
    const auto owner = std::make_shared<Message>(message);
    return reader.read(*owner, "initializer 'w'", owner);
  }
  template <class Message>
  std::string error(const Message& message, const Limits& limits = {}) {
    try {
      read(message, limits);
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  }

  ModelFolder folder_;
  StringTable strings_;
};

TEST_F(ReadTensor, RawDataOfEveryType) {
  for (const auto& [type, size] : std::vector<std::pair<int, size_t>>{{TensorProto::FLOAT, 4},
                                                                      {TensorProto::UINT8, 1},
                                                                      {TensorProto::INT8, 1},
                                                                      {TensorProto::UINT16, 2},
                                                                      {TensorProto::INT16, 2},
                                                                      {TensorProto::INT32, 4},
                                                                      {TensorProto::INT64, 8},
                                                                      {TensorProto::BOOL, 1},
                                                                      {TensorProto::FLOAT16, 2},
                                                                      {TensorProto::DOUBLE, 8},
                                                                      {TensorProto::UINT32, 4},
                                                                      {TensorProto::UINT64, 8},
                                                                      {TensorProto::BFLOAT16, 2}}) {
    TensorProto tensor = tensor_of(type, {2, 3});
    const std::string bytes(6 * size, '\1');
    tensor.set_raw_data(bytes);
    const Tensor result = read(tensor);
    EXPECT_EQ(static_cast<int>(result.dtype()), type);
    EXPECT_THAT(result.dims(), ElementsAre(2, 3));
    EXPECT_EQ(std::memcmp(result.bytes().data(), bytes.data(), bytes.size()), 0);
  }
}

TEST_F(ReadTensor, TypedFields) {
  TensorProto tensor = tensor_of(TensorProto::FLOAT, {2});
  tensor.add_float_data(1.5f);
  tensor.add_float_data(-2.0f);
  EXPECT_THAT(read(tensor).values<float>(), ElementsAre(1.5f, -2.0f));

  tensor = tensor_of(TensorProto::DOUBLE, {1});
  tensor.add_double_data(0.1);
  EXPECT_THAT(read(tensor).values<double>(), ElementsAre(0.1));

  tensor = tensor_of(TensorProto::UINT32, {1});
  tensor.add_uint64_data(0xffffffff);
  EXPECT_THAT(read(tensor).values<uint32_t>(), ElementsAre(0xffffffffu));

  tensor = tensor_of(TensorProto::UINT64, {1});
  tensor.add_uint64_data(0xffffffffffffffff);
  EXPECT_THAT(read(tensor).values<uint64_t>(), ElementsAre(0xffffffffffffffffu));

  tensor = tensor_of(TensorProto::INT8, {3});
  for (int value : {-128, 127, 255}) tensor.add_int32_data(value);  // 255: as an unsigned byte, which some write
  EXPECT_THAT(read(tensor).values<int8_t>(), ElementsAre(-128, 127, -1));

  tensor = tensor_of(TensorProto::FLOAT16, {1});
  tensor.add_int32_data(0xc000);  // the bits of -2
  EXPECT_THAT(read(tensor).as_double(), ElementsAre(-2.0));

  tensor = tensor_of(TensorProto::BFLOAT16, {1});
  tensor.add_int32_data(0x3fc0);
  EXPECT_THAT(read(tensor).as_double(), ElementsAre(1.5));

  tensor = tensor_of(TensorProto::INT64, {});
  tensor.add_int64_data(-7);
  EXPECT_THAT(read(tensor).values<int64_t>(), ElementsAre(-7));
}

TEST_F(ReadTensor, BooleansBecomeZeroOrOne) {
  TensorProto tensor = tensor_of(TensorProto::BOOL, {4});
  tensor.set_raw_data(raw<uint8_t>({0, 1, 2, 255}));
  EXPECT_THAT(read(tensor).values<uint8_t>(), ElementsAre(0, 1, 1, 1));
  tensor.clear_raw_data();
  for (int value : {0, 1, 2, 3}) tensor.add_int32_data(value);
  EXPECT_THAT(read(tensor).values<uint8_t>(), ElementsAre(0, 1, 1, 1));
}

TEST_F(ReadTensor, EmptyTensors) {
  TensorProto tensor = tensor_of(TensorProto::FLOAT, {0, 5});
  EXPECT_EQ(read(tensor).size(), 0);
  tensor.set_raw_data("");
  EXPECT_EQ(read(tensor).size(), 0);
}

TEST_F(ReadTensor, DataMustBeAsLongAsTheShape) {
  TensorProto tensor = tensor_of(TensorProto::FLOAT, {2, 3});
  for (size_t bytes : {0, 1, 20, 23, 25, 28}) {
    tensor.set_raw_data(std::string(bytes, '\0'));
    EXPECT_EQ(error(tensor),
              fmt::format("initializer 'w': shape [2, 3] of float32 needs 24 bytes of data, found {}", bytes));
  }
  tensor.clear_raw_data();
  EXPECT_EQ(error(tensor), "initializer 'w': shape [2, 3] needs 6 elements of data, found 0");
  for (int i = 0; i < 7; ++i) tensor.add_float_data(0);
  EXPECT_EQ(error(tensor), "initializer 'w': shape [2, 3] needs 6 elements of data, found 7");
}

TEST_F(ReadTensor, DataMustBeInOneFieldOfItsType) {
  TensorProto tensor = tensor_of(TensorProto::FLOAT, {1});
  tensor.add_int32_data(1);
  EXPECT_EQ(error(tensor), "initializer 'w': elements of type float32 belong in float_data, found in int32_data");
  tensor.add_float_data(1);
  EXPECT_EQ(error(tensor), "initializer 'w': its data is given more than once, as float_data, int32_data");
  tensor = tensor_of(TensorProto::UINT8, {1});
  tensor.add_int32_data(256);
  EXPECT_EQ(error(tensor), "initializer 'w': the value 256 does not fit in its type uint8");
  tensor.set_int32_data(0, -129);
  EXPECT_THAT(error(tensor), HasSubstr("does not fit"));
  tensor = tensor_of(TensorProto::UINT32, {1});
  tensor.add_uint64_data(uint64_t{1} << 32);
  EXPECT_THAT(error(tensor), HasSubstr("the value 4294967296 does not fit in its type uint32"));
}

// ONNX packs elements of 4 and of 2 bits, the first into the lowest bits, also if a field has a number a byte.
TEST_F(ReadTensor, ElementsOfLessThanAByte) {
  TensorProto tensor = tensor_of(TensorProto::INT4, {3});
  tensor.set_raw_data("\xe1\x03");
  EXPECT_THAT(read(tensor).as_int64(), ElementsAre(1, -2, 3));
  tensor.clear_raw_data();
  for (const int byte : {0xe1, 0x03}) tensor.add_int32_data(byte);
  EXPECT_THAT(read(tensor).as_int64(), ElementsAre(1, -2, 3));
  tensor.add_int32_data(0);
  EXPECT_EQ(error(tensor), "initializer 'w': shape [3] needs 2 elements of data, found 3");
  TensorProto fractions = tensor_of(TensorProto::FLOAT4E2M1, {3});
  fractions.set_raw_data("\xd7\x01");
  EXPECT_THAT(read(fractions).as_double(), ElementsAre(6, -3, 0.5));
  TensorProto two_bits = tensor_of(TensorProto::UINT2, {5});
  two_bits.set_raw_data("\x1b\x02");
  EXPECT_THAT(read(two_bits).as_int64(), ElementsAre(3, 2, 1, 0, 2));
  two_bits.set_raw_data("\x1b");
  EXPECT_EQ(error(two_bits), "initializer 'w': shape [5] of uint2 needs 2 bytes of data, found 1");
}

TEST_F(ReadTensor, StringsAreHandles) {
  TensorProto tensor = tensor_of(TensorProto::STRING, {2, 2});
  const std::string with_zero("a\0b", 3);
  for (const std::string& text : {std::string("b"), std::string(), with_zero, std::string("b")})
    tensor.add_string_data(text);
  EXPECT_THAT(read(tensor).values<int64_t>(), ElementsAre(1, 0, 2, 1));
  EXPECT_EQ(strings_.text(2), with_zero);
  EXPECT_EQ(strings_.size(), 3);
  EXPECT_EQ(strings_.bytes(), 4);
  tensor.add_string_data("one more");
  EXPECT_EQ(error(tensor), "initializer 'w': shape [2, 2] needs 4 elements of data, found 5");
}

TEST_F(ReadTensor, StringsAreNoBytesOfTheFile) {
  TensorProto tensor = tensor_of(TensorProto::STRING, {1});
  tensor.set_raw_data(std::string(8, '\7'));
  EXPECT_EQ(error(tensor), "initializer 'w': strings belong in string_data, found raw_data");
  tensor.clear_raw_data();
  tensor.set_data_location(TensorProto::EXTERNAL);
  EXPECT_EQ(error(tensor), "initializer 'w': strings belong in string_data, found external data");
}

TEST_F(ReadTensor, StringsCountAsMemory) {
  TensorProto tensor = tensor_of(TensorProto::STRING, {1});
  tensor.add_string_data(std::string(100, 'x'));
  EXPECT_THAT(error(tensor, {.max_memory = 100}), HasSubstr("it needs 100 bytes, the tensors before it 8"));
}

TEST_F(ReadTensor, TypesWithoutARowAreNamed) {
  for (const auto& [type, name] : std::vector<std::pair<int, std::string>>{{TensorProto::COMPLEX64, "COMPLEX64"},
                                                                           {TensorProto::COMPLEX128, "COMPLEX128"},
                                                                           {TensorProto::UNDEFINED, "UNDEFINED"},
                                                                           {4711, "number 4711"},
                                                                           {-1, "number -1"}})
    EXPECT_EQ(error(tensor_of(type, {1})), "initializer 'w': its element type " + name + " is not supported");
  TensorProto segmented = tensor_of(TensorProto::FLOAT, {1});
  segmented.mutable_segment()->set_begin(0);
  EXPECT_EQ(error(segmented), "initializer 'w': tensors in segments are not supported");
}

TEST_F(ReadTensor, DimsMustMakeSense) {
  EXPECT_EQ(error(tensor_of(TensorProto::FLOAT, {2, -1})), "initializer 'w': its dim 1 is -1; dims cannot be negative");
  const int64_t big = int64_t{1} << 31;
  EXPECT_EQ(error(tensor_of(TensorProto::UINT8, {big, big, 2})),
            "initializer 'w': the size of its shape [2147483648, 2147483648, 2] does not fit in 64 bits");
  EXPECT_THAT(error(tensor_of(TensorProto::DOUBLE, {big, big})), HasSubstr("does not fit in 64 bits"));
  EXPECT_EQ(read(tensor_of(TensorProto::DOUBLE, {big, big, big, 0})).size(), 0);
  EXPECT_EQ(error(tensor_of(TensorProto::FLOAT, std::vector<int64_t>(65, 1))),
            "initializer 'w': it has 65 axes; at most 64 are allowed");
}

TEST_F(ReadTensor, HoldsToTheLimitOfMemory) {
  Limits limits;
  limits.max_memory = 1000;
  EXPECT_EQ(error(tensor_of(TensorProto::FLOAT, {251}), limits),
            "initializer 'w': it needs 1004 bytes, and the limit is 1000 (--max-memory)");
}

// External data.

TensorProto external(const std::vector<std::pair<std::string, std::string>>& entries,
                     const std::vector<int64_t>& dims = {2}) {
  TensorProto tensor = tensor_of(TensorProto::FLOAT, dims);
  tensor.set_data_location(TensorProto::EXTERNAL);
  for (const auto& [key, value] : entries) {
    auto* entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  return tensor;
}

TEST_F(ReadTensor, ExternalDataByKey) {
  folder_.put("w.bin", "pad!" + raw<float>({1.5f, -2.0f, 3.0f}));
  EXPECT_THAT(read(external({{"length", "8"}, {"location", "w.bin"}, {"offset", "4"}})).values<float>(),
              ElementsAre(1.5f, -2.0f));
  EXPECT_THAT(read(external({{"location", "w.bin"}, {"offset", "4"}, {"checksum", "any"}})).values<float>(),
              ElementsAre(1.5f, -2.0f));
  // If it is not aligned, the data is copied.
  folder_.put("odd.bin", "x" + raw<float>({1.5f, -2.0f}));
  const Tensor odd = read(external({{"location", "odd.bin"}, {"offset", "1"}}));
  EXPECT_THAT(odd.values<float>(), ElementsAre(1.5f, -2.0f));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(odd.bytes().data()) % 4, 0u);
}

TEST_F(ReadTensor, ExternalDataMustLieInItsFile) {
  folder_.put("w.bin", std::string(16, '\0'));
  const auto at = [&](const std::string& offset) {
    return error(external({{"location", "w.bin"}, {"offset", offset}}));
  };
  EXPECT_EQ(at("8"), "no error");
  EXPECT_EQ(at("9"), "initializer 'w': its external data lies at bytes 9 to 9 + 8 of 'w.bin', which has 16 bytes");
  EXPECT_THAT(at("18446744073709551615"), HasSubstr("which has 16 bytes"));
  EXPECT_EQ(at("-8"), "initializer 'w': the offset '-8' of its external data is not a number of bytes");
  for (const char* text : {"", "+1", " 1", "0x1", "1.0", "18446744073709551616", "1e2"})
    EXPECT_THAT(at(text), HasSubstr("is not a number of bytes")) << text;
  EXPECT_EQ(error(external({{"location", "w.bin"}, {"length", "9"}})),
            "initializer 'w': shape [2] of float32 needs 8 bytes, and its external data has length 9");
}

TEST_F(ReadTensor, ExternalDataStaysInTheFolder) {
  folder_.put("w.bin", std::string(8, '\0'));
  for (const char* name : {"../w.bin", "/etc/passwd", "a/../../w.bin", "", "..", "w.bin/"})
    EXPECT_THAT(error(external({{"location", name}})), HasSubstr("initializer 'w': ")) << name;
  EXPECT_THAT(error(external({{"location", "../w.bin"}})),
              HasSubstr("external data: the file name '../w.bin' is refused"));
  EXPECT_THAT(error(external({{"location", "missing"}})),
              HasSubstr("external data: cannot open 'missing' in the folder"));
  std::filesystem::create_symlink("w.bin", folder_.path("link"));
  EXPECT_THAT(error(external({{"location", "link"}})), HasSubstr("a symbolic link is on the way"));
  std::filesystem::create_hard_link(folder_.path("w.bin"), folder_.path("hard"));
  EXPECT_THAT(error(external({{"location", "hard"}})), HasSubstr("it has 2 hard links"));
}

TEST_F(ReadTensor, ExternalDataHasOnlyTheKeysOfOnnx) {
  folder_.put("w.bin", std::string(8, '\0'));
  EXPECT_THAT(error(external({{"location", "w.bin"}, {"basepath", "/etc"}})), HasSubstr("the unknown key 'basepath'"));
  EXPECT_EQ(error(external({{"location", "w.bin"}, {"location", "x"}})),
            "initializer 'w': its external data gives 'location' twice");
  EXPECT_EQ(error(external({{"offset", "0"}})), "initializer 'w': its external data names no file (location)");
  TensorProto both = external({{"location", "w.bin"}});
  both.set_raw_data(std::string(8, '\0'));
  EXPECT_EQ(error(both), "initializer 'w': its data is external, and yet raw_data has some too");
  both.set_data_location(TensorProto::DEFAULT);
  EXPECT_EQ(error(both), "initializer 'w': it names external data, but its data_location is not EXTERNAL");
}

// Sparse tensors.

onnx::SparseTensorProto sparse(const std::vector<int64_t>& dims, const std::vector<float>& values,
                               const std::vector<int64_t>& indices, bool by_axis = false) {
  onnx::SparseTensorProto result;
  for (int64_t dim : dims) result.add_dims(dim);
  const auto count = static_cast<int64_t>(values.size());
  *result.mutable_values() = tensor_of(TensorProto::FLOAT, {count});
  result.mutable_values()->set_raw_data(raw(values));
  const auto rank = static_cast<int64_t>(dims.size());
  *result.mutable_indices() =
      tensor_of(TensorProto::INT64, by_axis ? std::vector<int64_t>{count, rank} : std::vector<int64_t>{count});
  result.mutable_indices()->set_raw_data(raw(indices));
  return result;
}

TEST_F(ReadTensor, SparseTensorsBecomeDense) {
  const Tensor linear = read(sparse({2, 3}, {1, 2}, {1, 5}));
  EXPECT_THAT(linear.dims(), ElementsAre(2, 3));
  EXPECT_THAT(linear.values<float>(), ElementsAre(0, 1, 0, 0, 0, 2));
  EXPECT_THAT(read(sparse({2, 3}, {1, 2}, {0, 1, 1, 2}, true)).values<float>(), ElementsAre(0, 1, 0, 0, 0, 2));
}

TEST_F(ReadTensor, SparseTensorsAreChecked) {
  EXPECT_EQ(error(sparse({2, 3}, {1}, {6})), "initializer 'w': its index 0 is 6, outside shape [2, 3]");
  EXPECT_EQ(error(sparse({2, 3}, {1}, {-1})), "initializer 'w': its index 0 is -1, outside shape [2, 3]");
  EXPECT_EQ(error(sparse({2, 3}, {1}, {0, 3}, true)),
            "initializer 'w': its index 0 is 3 on axis 1, outside shape [2, 3]");
  EXPECT_THAT(error(sparse({2, 3}, {1, 2}, {0, 1, 2})),
              HasSubstr("initializer 'w', its indices: shape [2] of int64 needs"));
  EXPECT_EQ(error(sparse({int64_t{1} << 40, int64_t{1} << 40}, {1}, {0})),
            "initializer 'w': the size of its shape [1099511627776, 1099511627776] does not fit in 64 bits");
  // A few bytes that would become a petabyte.
  EXPECT_THAT(error(sparse({int64_t{1} << 48}, {1}, {0})), HasSubstr("(--max-memory)"));
  // The way around checks of external data that onnxruntime 1.26 had.
  auto leading_out = sparse({2}, {1}, {0});
  leading_out.mutable_values()->clear_raw_data();
  leading_out.mutable_values()->set_data_location(TensorProto::EXTERNAL);
  auto* entry = leading_out.mutable_values()->add_external_data();
  entry->set_key("location");
  entry->set_value("../../etc/passwd");
  EXPECT_THAT(error(leading_out), HasSubstr("initializer 'w', its values: external data: the file name"));
}

}  // namespace
}  // namespace onnxc
