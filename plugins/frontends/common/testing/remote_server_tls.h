/// TLS between a frontend under test and the server that it passes calls on to.
#pragma once

#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "atoll/pools/remote_models.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/temporary_directory.h"
#include "frontends/common/tls/testing/test_certificates.h"

namespace atl::frontends {

/// The other server's certificate is for the name "server". Tests change members before the server starts.
struct RemoteServerTls {
  /// All tests that say nothing else are run with it too, by this variable.
  bool is_wanted = std::getenv("ATOLL_TEST_REMOTE_TLS") != nullptr;
  TestCertificate authority{"authority"};
  TestCertificate server{"server", &authority};
  TestCertificate client{"client", &authority};
  bool mutual = false;

  void serve(test::FakeOptions& options) const {
    options.set_bool("use_ssl", true).set_bool("use_ssl_mutual", mutual);
    options.set_string("server_cert", write("server.crt", server.cert()));
    options.set_string("server_key", write("server.key", server.key()));
    options.set_string("root_cert", write("ca.crt", authority.cert()));
  }
  /// What calls to it are made by.
  std::shared_ptr<RemoteTls> rules() const {
    auto rules = std::make_shared<RemoteTls>();
    rules->root_cert = authority.cert();
    rules->client_cert = client.cert();
    rules->client_key = client.key();
    rules->server_name = "server";
    return rules;
  }

 private:
  std::string write(const std::string& name, const std::string& text) const {
    std::string path = (directory_.path() / name).string();
    std::ofstream(path) << text;
    return path;
  }

  test::TemporaryDirectory directory_;
};

}  // namespace atl::frontends
