#include "frontends/common/routes/renamed_inference.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/fake_http_exchange.h"

namespace atl::frontends {
namespace {

constexpr std::string_view kType = "application/x.binary+json;json-header-size=";

class RenamedInferenceTest : public testing::Test {
 protected:
  RenamedInferenceTest() { host_.registry().publish<ModelCatalog>("models", catalog_); }
  RenamedInference opened(const std::string& model = "") {
    RenamedInference inference(kType, model);
    EXPECT_TRUE(inference.open(host_).ok());
    return inference;
  }

  test::FakeHost host_;
  test::FakeModelCatalog catalog_;
};

TEST_F(RenamedInferenceTest, TheOnlyModelIsTheDefault) {
  EXPECT_EQ(opened().infer({}).path, "") << "there is none";
  catalog_.add_identity("a model");
  EXPECT_EQ(opened().infer({}).path, "/v2/models/a%20model/infer");
  catalog_.add_identity("other");
  EXPECT_EQ(opened().infer({}).path, "") << "there are two";
  EXPECT_EQ(opened("other").infer({}).path, "/v2/models/other/infer");
}

TEST_F(RenamedInferenceTest, ADefaultThatIsNotThereIsTold) {
  catalog_.add_identity("a");
  EXPECT_EQ(opened("a").infer({}).path, "/v2/models/a/infer");
  EXPECT_FALSE(host_.log().contains("is in no repository"));
  EXPECT_EQ(opened("b").infer({}).path, "/v2/models/b/infer") << "it may come later";
  EXPECT_TRUE(host_.log().contains("the default model 'b' is in no repository"));
}

TEST_F(RenamedInferenceTest, TheBytesOfTheJsonStandInTheContentType) {
  const RenamedInference inference = opened("m");
  const std::string coded = std::string(kType) + "12", other = "application/json";
  const std::vector<HttpHeader> binary = {{"Accept", "x"}, {"CONTENT-Type", coded}},
                                json = {{"content-type", other}};
  EXPECT_EQ(inference.infer(binary).json_length, "12");
  EXPECT_EQ(inference.infer(json).json_length, "");
  EXPECT_EQ(inference.infer({}).json_length, "");
  for (const auto& [type, length] :
       {std::pair<std::string, std::string>("application/x.binary+json; json-header-size=12", "12"),
        {"application/x.binary+json ;json-header-size=12", "12"},
        {"application/x.binary+json", ""},
        {"application/x.binary+json; other=1", ""},
        {"application/x.binary+jsonx;json-header-size=12", ""}}) {
    const std::vector<HttpHeader> headers = {{"content-type", type}};
    EXPECT_EQ(inference.infer(headers).json_length, length) << type;
  }
  EXPECT_EQ(inference.infer(json).binary_type, kType) << "of the answer, whatever was sent";
  EXPECT_EQ(inference.call("/v2/models/n/infer", binary).json_length, "12");
  EXPECT_EQ(inference.call("/v2", binary).path, "/v2");
}

TEST_F(RenamedInferenceTest, WithoutADefaultTheClientIsToldWhatToSet) {
  catalog_.add_identity("a");
  catalog_.add_identity("b");
  test::FakeHttpExchange exchange({});
  opened().answer_without_model(exchange);
  EXPECT_EQ(exchange.reply().status, 400);
  EXPECT_NE(exchange.reply().body.find("have 2 models; set the option default_model"), std::string::npos);
}

TEST(HeaderValue, IsThatOfTheFirstOfTheName) {
  const std::vector<HttpHeader> headers = {{"A", "1"}, {"b", "2"}, {"B", "3"}};
  EXPECT_EQ(header_value(headers, "b"), "2");
  EXPECT_EQ(header_value(headers, "c"), "");
}

}  // namespace
}  // namespace atl::frontends
