#include "repositories/s3/request_signer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace atl::s3 {
namespace {

using ::testing::EndsWith;

/// Of the test suite that AWS publishes for Signature Version 4.
struct Vector {
  const char* name;
  SignableRequest request;
  const char* signature;
};

const Vector kVectors[] = {
    {"get-vanilla", {}, "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {"get-vanilla-query-order-key-case",
     {.query = {{"Param2", "value2"}, {"Param1", "value1"}}},
     "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
    {"get-vanilla-empty-query-key",
     {.query = {{"Param1", "value1"}}},
     "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"},
    {"get-vanilla-query-unreserved",
     {.query = {{"-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
                 "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"}}},
     "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"},
    {"get-vanilla-utf8-query",
     {.query = {{"\u1234", "bar"}}},
     "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
    {"get-unreserved",
     {.path = encode_path("/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")},
     "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
    {"get-utf8",
     {.path = encode_path("/\u1234")},
     "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
    {"post-vanilla", {.method = "POST"}, "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
    {"post-header-key-sort",
     {.method = "POST", .headers = {{"my-header1", "value1"}}},
     "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"},
};

TEST(RequestSigner, AgreesWithTheVectorsOfAws) {
  const SigningKey key{.key_id = "AKIDEXAMPLE",
                       .secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                       .region = "us-east-1",
                       .service = "service"};
  for (Vector vector : kVectors) {
    vector.request.host = "example.amazonaws.com";
    const auto lines = sign_request(vector.request, key, "20150830T123600Z");
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0], "x-amz-date: 20150830T123600Z");
    EXPECT_THAT(lines[1], EndsWith(vector.signature)) << vector.name;
  }
}

/// The examples of the S3 API's reference.
TEST(RequestSigner, AgreesWithTheExamplesOfS3) {
  const SigningKey key{.key_id = "AKIAIOSFODNN7EXAMPLE",
                       .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                       .region = "us-east-1"};
  SignableRequest request{.host = "examplebucket.s3.amazonaws.com", .path = "/test.txt"};
  request.headers = {{"range", "bytes=0-9"}, {"x-amz-content-sha256", std::string(kEmptyHash)}};
  EXPECT_EQ(
      sign_request(request, key, "20130524T000000Z")[1],
      "Authorization: AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
      "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
      "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  request = {.host = "examplebucket.s3.amazonaws.com", .query = {{"prefix", "J"}, {"max-keys", "2"}}};
  request.headers = {{"x-amz-content-sha256", std::string(kEmptyHash)}};
  EXPECT_THAT(sign_request(request, key, "20130524T000000Z")[1],
              EndsWith("34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
}

TEST(RequestSigner, ATokenIsSignedAlong) {
  const SigningKey key{.key_id = "k", .secret = "s", .session_token = "t", .region = "r"};
  const auto lines = sign_request({.host = "h"}, key, "20130524T000000Z");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1], "x-amz-security-token: t");
  EXPECT_NE(lines[2].find("SignedHeaders=host;x-amz-date;x-amz-security-token,"), std::string::npos);
}

TEST(RequestSigner, WhatIsNotPlainIsEncodedOnce) {
  EXPECT_EQ(encode_path("/b/a b+c%/\u00e4"), "/b/a%20b%2Bc%25/%C3%A4");
  EXPECT_EQ(encode_path("/"), "/");
  EXPECT_EQ(encode_query({{"b", "/"}, {"a", ""}}), "a=&b=%2F");
  EXPECT_EQ(signing_time(1'440'938'160), "20150830T123600Z");
  EXPECT_EQ(sha256_hex(""), kEmptyHash);
}

}  // namespace
}  // namespace atl::s3
