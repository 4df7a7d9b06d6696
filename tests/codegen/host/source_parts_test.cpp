#include "codegen/host/source_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace onnxc {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(SourceParts, ASmallModelIsOnePartWithoutMarks) {
  SourceParts parts;
  parts.append("a\n");
  parts.append("b\n", parts.add_unit(100));
  const SourceParts::Source source = parts.take();
  EXPECT_EQ(source.parts, 1);
  EXPECT_EQ(source.text, "a\nb\n");
}

TEST(SourceParts, AUnitIsInOnePart) {
  SourceParts parts;
  const SourceParts::Unit large = parts.add_unit(150'000), other = parts.add_unit(100'000);
  parts.append("shared\n");
  parts.append("a1\n", large);
  parts.append("a2\n", large);
  parts.append("b\n", other);
  parts.append("end\n");
  parts.append("a3\n", large);
  const SourceParts::Source source = parts.take();
  EXPECT_EQ(source.parts, 2);
  EXPECT_EQ(source.text,
            "shared\n#if ONNXC_IN_PART(0)\na1\na2\n#endif\n#if ONNXC_IN_PART(1)\nb\n#endif\nend\n"
            "#if ONNXC_IN_PART(0)\na3\n#endif\n");
}

TEST(SourceParts, PartsAreEven) {
  SourceParts parts;
  for (int64_t cost : {90'000, 10'000, 80'000, 20'000, 100'000})
    parts.append(std::to_string(cost) + "\n", parts.add_unit(cost));
  const SourceParts::Source source = parts.take();
  EXPECT_EQ(source.parts, 3);
  EXPECT_THAT(source.text, HasSubstr("#if ONNXC_IN_PART(1)\n90000\n10000\n#endif"));
  EXPECT_THAT(source.text, HasSubstr("#if ONNXC_IN_PART(2)\n80000\n20000\n#endif"));
  EXPECT_THAT(source.text, HasSubstr("#if ONNXC_IN_PART(0)\n100000\n#endif"));
  EXPECT_THAT(source.text, Not(HasSubstr("ONNXC_IN_PART(3)")));
}

}  // namespace
}  // namespace onnxc
