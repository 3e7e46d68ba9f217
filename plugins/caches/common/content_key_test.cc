#include "caches/common/content_key.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/recording_sink.h"

namespace atl::caches {
namespace {

class ContentKeyTest : public ::testing::Test {
 protected:
  /// Of a model with this content, loaded as the one of that number, in a process.
  ContentKey key(const std::string& content_id, uint64_t load_id, uint64_t process, float value = 1) {
    test::FakeModelCatalog catalog;
    ModelInfo info;
    info.name = "m";
    info.version = 2;
    info.version_text = "2";
    info.content_id = content_id;
    info.load_id = load_id;
    test::TestRequest request;
    request->model = &catalog.add(std::move(info));
    request.add_input<float>("INPUT0", DataType::kFp32, {1}, {value});
    return content_key_of(request.request(), "atoll:", process).value();
  }
};

TEST_F(ContentKeyTest, NamesTheModelForWhoLooksIntoTheCache) {
  const ContentKey one = key("c", 1, 1);
  EXPECT_EQ(one.text.substr(0, 10), "atoll:m:2:");
  EXPECT_EQ(one.text.size(), 74u);
  EXPECT_NE(one.hash, 0u);
}

TEST_F(ContentKeyTest, IsTheSameInEachProcessWithTheSameModel) {
  EXPECT_EQ(key("c", 1, 1).text, key("c", 2, 3).text);
  EXPECT_NE(key("c", 1, 1).text, key("d", 1, 1).text);
  EXPECT_NE(key("c", 1, 1, 1).text, key("c", 1, 1, 2).text);
}

TEST_F(ContentKeyTest, IsOfThisLoadAloneWhereTheContentIsNotKnown) {
  EXPECT_EQ(key("", 1, 1).text, key("", 1, 1).text);
  EXPECT_NE(key("", 1, 1).text, key("", 2, 1).text);
  EXPECT_NE(key("", 1, 1).text, key("", 1, 2).text);
}

TEST_F(ContentKeyTest, ThereIsNoneOfInputsThatTheirClientMayChange) {
  test::FakeModelCatalog catalog;
  test::TestRequest request;
  request->model = &catalog.add_identity("m");
  request.add_input<float>("INPUT0", DataType::kFp32, {1}, {1});
  request->inputs[0].flags |= InputTensor::kShared;
  EXPECT_FALSE(content_key_of(request.request(), "", 1));
}

}  // namespace
}  // namespace atl::caches
