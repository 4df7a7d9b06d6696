#include "support/hash.h"

#include <gtest/gtest.h>

namespace onnxc {
namespace {

std::string sha256_of(std::string_view text) { return sha256(std::as_bytes(std::span(text))); }

// The vectors of FIPS 180-4's examples.
TEST(Sha256, AgreesWithThePublishedExamples) {
  EXPECT_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_of(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Fnv1a, AgreesWithThePublishedExamples) {
  EXPECT_EQ(fnv1a(""), 0xcbf29ce484222325u);
  EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(fnv1a("foobar"), 0x85944171f73967e8u);
}

}  // namespace
}  // namespace onnxc
