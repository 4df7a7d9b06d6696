#include "onnxc_run/files/npy.h"

#include <gtest/gtest.h>

#include <string>

namespace onnxc {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// A file of version 1 with this header and data.
std::string file(const std::string& header, const std::string& data) {
  std::string result = "\x93NUMPY";
  result += '\x01';
  result += '\x00';
  result += static_cast<char>(header.size());
  result += '\x00';
  return result + header + data;
}

std::string error_of(const std::string& contents) {
  try {
    (void)read_npy(bytes_of(contents), "'a.npy'");
  } catch (const UserError& error) {
    return error.what();
  }
  return "none";
}

TEST(Npy, RoundTripsEveryType) {
  for (DType dtype : {DType::float32, DType::float64, DType::float16, DType::int8, DType::int16, DType::int32,
                      DType::int64, DType::uint8, DType::uint16, DType::uint32, DType::uint64, DType::boolean}) {
    ASSERT_TRUE(has_npy_type(dtype));
    for (const std::vector<int64_t>& dims : {std::vector<int64_t>{}, {3}, {2, 5}, {2, 0, 3}, {1, 2, 3, 4}}) {
      Tensor tensor = Tensor::zeros(dtype, dims);
      for (size_t i = 0; i < tensor.bytes().size(); ++i) tensor.mutable_bytes()[i] = static_cast<std::byte>(i % 2);
      std::string text = write_npy(tensor);
      Tensor back = read_npy(bytes_of(text), "'a.npy'");
      EXPECT_EQ(back.dtype(), dtype);
      EXPECT_EQ(back.dims(), dims);
      EXPECT_TRUE(std::ranges::equal(back.bytes(), tensor.bytes()));
    }
  }
  EXPECT_FALSE(has_npy_type(DType::bfloat16));
}

// The bytes that numpy 2 writes for numpy.save of numpy.float32([1, 2]).
TEST(Npy, WritesWhatNumpyWrites) {
  std::string expected = "\x93NUMPY";
  expected += '\x01';
  expected += '\x00';
  expected += "v";
  expected += '\x00';
  expected += "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  expected.append(128 - expected.size() - 1, ' ');
  expected += '\n';
  expected.append({0, 0, '\x80', '\x3f', 0, 0, 0, '\x40'});
  EXPECT_EQ(write_npy(Tensor::of<float>(DType::float32, {2}, {1, 2})), expected);
}

TEST(Npy, ReadsBigEndian) {
  std::string text =
      file("{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }\n", {0, 0, 1, 2, '\xff', '\xff', '\xff', '\xfe'});
  EXPECT_EQ(read_npy(bytes_of(text), "").as_int64(), (std::vector<int64_t>{258, -2}));
}

TEST(Npy, ReadsFortranOrder) {
  // [[1, 2, 3], [4, 5, 6]] stored by columns.
  std::string text = file("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n", {1, 4, 2, 5, 3, 6});
  EXPECT_EQ(read_npy(bytes_of(text), "").as_int64(), (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, ReadsBfloat16SavedAsVoid) {
  std::string text = file("{'descr': '<V2', 'fortran_order': False, 'shape': (1,), }\n", {'\x80', '\x3f'});
  EXPECT_EQ(read_npy(bytes_of(text), "").as_double(), std::vector<double>{1});
}

TEST(Npy, RefusesWhatIsNoPlainArray) {
  const std::string header = "'a.npy': the header is not one that numpy.save writes for a plain array";
  EXPECT_EQ(error_of("hello, world"), "'a.npy': this is not a .npy file");
  EXPECT_EQ(error_of(""), "'a.npy': this is not a .npy file");
  EXPECT_EQ(error_of(file("{'descr': '<f4'}\n", "")), header);
  EXPECT_EQ(error_of(file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }\n", "1234")), header);
  EXPECT_EQ(error_of(file("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }\n", "1234")), header);
  EXPECT_EQ(error_of(file("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }\n", "1234")), header);
  EXPECT_EQ(error_of(file("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n", "1234")),
            "'a.npy': arrays of numpy's type '|O' cannot be an input");
  EXPECT_EQ(error_of(file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", "1234")),
            "'a.npy': the shape needs 8 bytes, and 4 follow the header");
  EXPECT_EQ(error_of(file("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n", "12345")),
            "'a.npy': the shape needs 4 bytes, and 5 follow the header");
  EXPECT_NE(error_of(file("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }\n", "")),
            "none");
}

TEST(Npy, RefusesEachTruncation) {
  std::string whole = write_npy(Tensor::of<float>(DType::float32, {2, 3}, {1, 2, 3, 4, 5, 6}));
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(error_of(whole.substr(0, length)), "none") << length;
  EXPECT_EQ(error_of(whole), "none");
}

}  // namespace
}  // namespace onnxc
