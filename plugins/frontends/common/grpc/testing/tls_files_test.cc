// TLS files that cannot be used.
#include <fstream>
#include <string>

#include "atoll/testing/temporary_directory.h"
#include "frontends/common/grpc/testing/frontend_fixture.h"

namespace atl::frontends::grpc_cases {
namespace {

class TlsFilesTest : public GrpcFrontendTest {
 protected:
  std::string file(const std::string& name, const std::string& content) {
    std::string path = (directory_.path() / name).string();
    std::ofstream(path) << content;
    return path;
  }
  Status try_start() {
    GrpcFrontend frontend(host_);
    ATOLL_RETURN_IF_ERROR(frontend.init());
    return frontend.start();
  }

  test::TemporaryDirectory directory_;
};

TEST_F(TlsFilesTest, FilesThatCanNotBeUsedAreRefusedByName) {
  const std::string cert = file("cert", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  const std::string key = file("key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
  const std::string other = file("other", "hello");
  const std::string large = file("large", std::string((1 << 20) + 1, 'x'));
  const std::string missing = (directory_.path() / "missing").string();
  host_.options().set_bool("use_ssl", true);
  auto refusal = [&](const std::string& server_cert, const std::string& server_key) {
    host_.options().set_string("server_cert", server_cert).set_string("server_key", server_key);
    Status status = try_start();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    return std::string(status.message());
  };
  auto text = [](const char* option, const std::string& path, const char* why) {
    return cat("option '", option, "' names '", path, "', expected a readable PEM file: ", why);
  };
  EXPECT_EQ(refusal(missing, key), text("server_cert", missing, "No such file or directory"));
  EXPECT_EQ(refusal(cert, missing), text("server_key", missing, "No such file or directory"));
  EXPECT_EQ(refusal(directory_.path().string(), key),
            text("server_cert", directory_.path().string(), "it is not a regular file"));
  EXPECT_EQ(refusal(other, key), text("server_cert", other, "it has no CERTIFICATE"));
  EXPECT_EQ(refusal(cert, cert), text("server_key", cert, "it has no PRIVATE KEY"));
  EXPECT_EQ(refusal(large, key), text("server_cert", large, "it has 1048577 bytes, at most 1048576"));
  const std::string useless = refusal(cert, key);
  const std::string expected =
      cat("gRPC cannot listen on '127.0.0.1:0' with server_cert '", cert, "', server_key '", key,
          "', root_cert '', expected a key and certificates that belong together");
  if (kIsGrpcLibrary) {
    EXPECT_EQ(useless, expected);
  } else {
    EXPECT_TRUE(useless.starts_with(expected + ": server_cert: its certificate cannot be used: ")) << useless;
  }
}

}  // namespace
}  // namespace atl::frontends::grpc_cases
