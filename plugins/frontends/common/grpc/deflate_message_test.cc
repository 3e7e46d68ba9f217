#include "frontends/common/grpc/deflate_message.h"

#include <gtest/gtest.h>

#include <string>

#include "frontends/common/grpc/inflate_message.h"

namespace atl::frontends {
namespace {

struct TextTarget final : InflateTarget {
  uint8_t* add(size_t bytes) override {
    const size_t before = text.size();
    text.resize(before + bytes);
    return reinterpret_cast<uint8_t*>(text.data()) + before;
  }
  std::string text;
};

iovec part(std::string& text) { return {text.data(), text.size()}; }

TEST(DeflateMessage, OpensToWhatItWas) {
  std::string one(10'000, 'a');
  std::string two = "and something else";
  for (DeflateForm form : {DeflateForm::kZlib, DeflateForm::kGzip}) {
    BodyBuffer buffer;
    ASSERT_TRUE(buffer.append("head", 4));
    const iovec parts[] = {part(one), part(two)};
    ASSERT_TRUE(deflate_message(parts, form, &buffer));
    EXPECT_EQ(buffer.text().substr(0, 4), "head");
    EXPECT_LT(buffer.size(), 200u);
    EXPECT_EQ(buffer.data()[4], form == DeflateForm::kGzip ? 0x1F : 0x78);
    const ByteSpan compressed = buffer.bytes().subspan(4);
    TextTarget target;
    size_t unused = 0;
    ASSERT_TRUE(inflate_message({&compressed, 1}, 1 << 20, nullptr, nullptr, target, &unused).ok());
    EXPECT_EQ(target.text.substr(0, target.text.size() - unused), one + two);
  }
}

TEST(DeflateMessage, WhatWouldNotBeSmallerIsLeft) {
  std::string text = "abcdefgh";
  const iovec parts[] = {part(text)};
  BodyBuffer buffer;
  EXPECT_FALSE(deflate_message(parts, DeflateForm::kGzip, &buffer));
  EXPECT_FALSE(deflate_message({}, DeflateForm::kGzip, &buffer));
}

}  // namespace
}  // namespace atl::frontends
