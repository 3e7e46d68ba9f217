#include "frontends/openai/request/embedding_request.h"

#include <gtest/gtest.h>

#include <string>

namespace atl::frontends::openai {
namespace {

TEST(EmbeddingRequest, IsRead) {
  auto found =
      read_embedding(R"({"model":"m","input":["a",""],"encoding_format":"base64","dimensions":3,"x":1})");
  const auto& request = std::get<EmbeddingRequest>(found);
  ASSERT_EQ(request.texts.size(), 2u);
  EXPECT_EQ(request.texts[0].text, "a");
  EXPECT_TRUE(request.is_base64);
  EXPECT_EQ(request.dimensions, 3);
  EXPECT_EQ(request.unknown_fields, 1u);
  EXPECT_EQ(std::get<EmbeddingRequest>(read_embedding(R"({"model":"m","input":[1,2]})")).texts[0].ids,
            (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(std::get<ApiError>(read_embedding(R"({"model":"m","input":[1,"a"]})")).param, "input");
  EXPECT_TRUE(std::holds_alternative<ApiError>(read_embedding("[]")));
  EXPECT_EQ(std::get<ApiError>(read_embedding(R"({"model":"m","input":"a","encoding_format":"hex"})")).param,
            "encoding_format");
  EXPECT_EQ(std::get<ApiError>(read_embedding(R"({"model":"m","input":"a","dimensions":0})")).param,
            "dimensions");
}

}  // namespace
}  // namespace atl::frontends::openai
