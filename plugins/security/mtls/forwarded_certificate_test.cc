#include "security/mtls/forwarded_certificate.h"

#include <gtest/gtest.h>

namespace atl::mtls {
namespace {

using Names = std::vector<std::string>;

TEST(ForwardedCertificate, NamesOfOneElement) {
  auto read = read_forwarded_certificate(
      R"(By=spiffe://x/server;Hash=0a1b;Subject="CN=ops,O=a b+OU=c";URI=spiffe://x/client;DNS=a.example)");
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(read->uris, Names{"spiffe://x/client"});
  EXPECT_EQ(read->common_names, Names{"ops"});
  EXPECT_EQ(read_forwarded_certificate("uri=a;URI=b")->uris, (Names{"a", "b"})) << "nothing is judged here";
  EXPECT_EQ(read_forwarded_certificate("Hash=1;URI=")->uris, Names{}) << "the client has none";
  EXPECT_EQ(read_forwarded_certificate(R"(URI="a,b;c\"d")")->uris, Names{"a,b;c\"d"});
  EXPECT_EQ(read_forwarded_certificate(R"(Subject="O=x, CN = a b ,CN=c")")->common_names,
            (Names{"a b", "c"}));
}

TEST(ForwardedCertificate, WhatCanBeReadInTwoWaysIsRefused) {
  for (const char* text : {"", ";", "URI", "=a", "URI=a,URI=b", "URI=a, By=b", R"(URI="a)", R"(URI=a"b")",
                           R"(URI="a"b)", "URI=a;", R"(Subject="CN=a\,CN=admin")", R"(Subject="CN=\"a\"")",
                           R"(Subject="CN=a";Subject="CN=b")", R"(Subject="a")", R"(Subject="CN=#0401")"})
    EXPECT_EQ(read_forwarded_certificate(text).status().code(), Code::kUnauthenticated) << text;
  EXPECT_TRUE(read_forwarded_certificate("URI=" + std::string(kForwardedBytesMax - 4, 'a')).ok());
  EXPECT_FALSE(read_forwarded_certificate("URI=" + std::string(kForwardedBytesMax - 3, 'a')).ok());
}

}  // namespace
}  // namespace atl::mtls
