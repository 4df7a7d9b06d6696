#include "strings/interned_strings.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "strings/string_functions.h"
#include "strings/string_values.h"

namespace onnxc::runtime {

// The model that these tests are linked with: three strings.
namespace {
struct alignas(64) Weights {
  char bytes[64];
  int64_t ends[3];
};
constexpr Weights weights = {{'c', 'a', 't', 'x'}, {0, 3, 4}};
}  // namespace
extern const SharedObject shared_object = {
    .onnxc_version = "0.1.0",
    .weights = reinterpret_cast<const unsigned char*>(&weights),
    .weights_size = sizeof weights,
    .entries = nullptr,
    .entry_count = 0,
};

namespace {

const ModelDescription model = [] {
  ModelDescription description = {};
  description.string_count = 3;
  description.string_ends = 64;
  return description;
}();

Text text_of(const std::string& text) { return {text.data(), static_cast<int64_t>(text.size())}; }
std::string string_of(Text text) { return {text.data, static_cast<size_t>(text.size)}; }

class InternedStringsTest : public testing::Test {
 protected:
  InternedStringsTest() {
    EXPECT_TRUE(strings_.set_up(model));
    frame_.strings = &strings_;
  }
  int64_t intern(const std::string& text) {
    kept_.push_back(std::make_unique<std::string>(text));
    return strings_.intern(text_of(*kept_.back()));
  }

  std::vector<std::unique_ptr<std::string>> kept_;
  InternedStrings strings_;
  Frame frame_ = {};
};

TEST_F(InternedStringsTest, TheModelsStringsComeFirst) {
  EXPECT_EQ(intern(""), 0);
  EXPECT_EQ(intern("cat"), 1);
  EXPECT_EQ(intern("x"), 2);
  EXPECT_EQ(intern("dog"), 3);
  EXPECT_EQ(intern("dog"), 3);
  EXPECT_EQ(string_of(strings_.text(1)), "cat");
  for (const int64_t no_handle : {int64_t{-1}, int64_t{4}, INT64_MAX, INT64_MIN})
    EXPECT_EQ(strings_.text(no_handle).size, -1);
}

TEST_F(InternedStringsTest, ARunForgetsThoseOfTheOneBefore) {
  for (int run = 0; run < 3; ++run) {
    for (int64_t i = 0; i < 5000; ++i) EXPECT_EQ(intern("text " + std::to_string(i + run)), 3 + i);
    for (int64_t i = 0; i < 5000; ++i) EXPECT_EQ(string_of(strings_.text(3 + i)), "text " + std::to_string(i + run));
    EXPECT_EQ(intern("cat"), 1);
    strings_.begin_run();
    EXPECT_EQ(strings_.text(3).size, -1);
    EXPECT_EQ(intern("x"), 2);
    strings_.begin_run();
  }
}

TEST_F(InternedStringsTest, StringsThatAreMadeKeepTheirBytes) {
  int64_t all = 0;
  for (int i = 0; i < 3000; ++i) all = string_concatenate(frame_, all, intern(std::to_string(i % 10)));
  EXPECT_EQ(strings_.text(all).size, 3000);
  EXPECT_EQ(string_of(strings_.text(all)).substr(0, 12), "012345678901");
  EXPECT_EQ(string_concatenate(frame_, intern("c"), intern("at")), 1);
  EXPECT_EQ(string_concatenate(frame_, 0, 1), 1);
  EXPECT_EQ(string_concatenate(frame_, 1, 0), 1);
  EXPECT_EQ(strings_.failure(), ONNXC_OK);
}

TEST_F(InternedStringsTest, WhatIsNoHandleEndsTheRun) {
  EXPECT_EQ(string_concatenate(frame_, 1, -1), 1);
  EXPECT_EQ(strings_.failure(), ONNXC_INTERNAL_ERROR);
  EXPECT_STREQ(strings_.failure_text(), "a string that no step has written");
  strings_.begin_run();
  EXPECT_EQ(strings_.failure(), ONNXC_OK);
}

TEST_F(InternedStringsTest, TheOrderIsThatOfBytes) {
  const auto before = [&](const std::string& a, const std::string& b) {
    return string_precedes(frame_, intern(a), intern(b));
  };
  EXPECT_TRUE(before("", "a"));
  EXPECT_TRUE(before("a", "aa"));
  EXPECT_TRUE(before("z", "\xc3\xa9"));
  EXPECT_FALSE(before("b", "a"));
  EXPECT_FALSE(before("a", "a"));
}

TEST_F(InternedStringsTest, PartsInAnyOrder) {
  const int64_t text = intern("a,b,,c"), comma = intern(",");
  EXPECT_EQ(string_count_parts(frame_, text, comma, INT64_MAX), 4);
  const std::vector<std::string> parts = {"a", "b", "", "c"};
  for (const int64_t number : {0, 1, 2, 3, 1, 0, 3, 3, 2})
    EXPECT_EQ(string_of(strings_.text(string_part(frame_, text, comma, INT64_MAX, number))),
              parts[static_cast<size_t>(number)]);
  EXPECT_EQ(string_of(strings_.text(string_part(frame_, text, comma, 1, 1))), "b,,c");
  EXPECT_EQ(string_count_parts(frame_, text, comma, 1), 2);
}

TEST_F(InternedStringsTest, ValuesOfACaller) {
  const onnxc_value_info info = {"x", ONNXC_STRING, 1, nullptr, ONNXC_TENSOR};
  const ValuePlace place{"input", 0, info};
  ErrorText error;
  std::vector<int64_t> handles(3);
  const std::vector<onnxc_string> good = {{"cat", 3}, {nullptr, 0}, {"new", 3}};
  EXPECT_EQ(take_strings(place, good.data(), 3, strings_, handles.data(), error), ONNXC_OK);
  EXPECT_EQ(handles, (std::vector<int64_t>{1, 0, 3}));
  const std::vector<onnxc_string> no_text = {{"cat", 3}, {nullptr, 2}};
  EXPECT_EQ(take_strings(place, no_text.data(), 2, strings_, handles.data(), error), ONNXC_INVALID_DATA);
  EXPECT_STREQ(error.text(), "input 0 'x': the string at 1 has 2 bytes, and its text is null");
  error.clear();
  const onnxc_string negative = {"cat", -1};
  EXPECT_EQ(take_strings(place, &negative, 1, strings_, handles.data(), error), ONNXC_INVALID_DATA);
  EXPECT_STREQ(error.text(), "input 0 'x': the string at 0 has -1 bytes");
}

TEST_F(InternedStringsTest, TextsTakeThePlaceOfHandles) {
  const onnxc_value_info info = {"y", ONNXC_STRING, 1, nullptr, ONNXC_TENSOR};
  const ValuePlace place{"output", 0, info};
  ErrorText error;
  std::vector<onnxc_string> memory(4);
  const std::vector<int64_t> handles = {1, 0, 2, 1};
  memcpy(memory.data(), handles.data(), handles.size() * sizeof(int64_t));
  EXPECT_EQ(give_strings(place, memory.data(), 4, strings_, error), ONNXC_OK);
  std::vector<std::string> found;
  for (const onnxc_string& each : memory) found.push_back(string_of({each.text, each.size}));
  EXPECT_EQ(found, (std::vector<std::string>{"cat", "", "x", "cat"}));
  memset(memory.data(), 0xff, memory.size() * sizeof(onnxc_string));
  EXPECT_EQ(give_strings(place, memory.data(), 4, strings_, error), ONNXC_INTERNAL_ERROR);
  EXPECT_STREQ(error.text(), "output 0 'y': no step has written the string at 3");
  EXPECT_EQ(memory[0].size, 0);
}

}  // namespace
}  // namespace onnxc::runtime
