#include "atoll/request/number_type.h"

#include <gtest/gtest.h>

namespace atl {
namespace {

TEST(NumberType, HasTheSizeOfItsDatatype) {
  for (uint32_t i = 0; i < kDataTypeCount; ++i) {
    const auto type = static_cast<DataType>(i);
    const uint32_t size = visit_number_type(
        type, []<class T>(std::type_identity<T>) { return uint32_t{sizeof(T)}; }, [] { return 0u; });
    const bool is_number = type != DataType::kInvalid && type != DataType::kBytes &&
                           type != DataType::kFp16 && type != DataType::kBf16;
    EXPECT_EQ(size, is_number ? data_type_size_bytes(type) : 0) << data_type_name(type);
  }
}

TEST(NumberType, TellsSignsAndFractions) {
  const auto text = [](DataType type) {
    return visit_number_type(
        type,
        []<class T>(std::type_identity<T>) {
          return std::is_floating_point_v<T> ? "fraction" : std::is_signed_v<T> ? "signed" : "unsigned";
        },
        [] { return "none"; });
  };
  EXPECT_STREQ(text(DataType::kUint64), "unsigned");
  EXPECT_STREQ(text(DataType::kInt8), "signed");
  EXPECT_STREQ(text(DataType::kFp64), "fraction");
  EXPECT_STREQ(text(DataType::kBf16), "none");
}

}  // namespace
}  // namespace atl
