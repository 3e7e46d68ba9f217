/// A frontend in this process, a catalog of fake models behind it and socket clients before it.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "atoll/runtime/listener_list.h"
#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/fake_model_control.h"
#include "atoll/testing/option_table.h"
#include "atoll/testing/temporary_directory.h"
#include "frontends/common/testing/held_requests.h"
#include "frontends/common/tls/testing/test_certificates.h"
#include "frontends/http/frontend.h"
#include "frontends/http/option_table.h"
#include "frontends/http/testing/http_client.h"

namespace atl::frontends::http {

/// Gives every option its default, and the address a free port.
inline void set_default_options(test::FakeOptions& options) {
  options.set_string("address", "127.0.0.1:0");
  if (!test::apply_option_table(kOptions, {}, options).ok()) std::abort();
}

/// Both ends of many connections are in this process.
inline void raise_descriptor_limit(rlim_t wanted) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  ASSERT_GE(limit.rlim_max, wanted) << "this test needs so many descriptors";
  limit.rlim_cur = std::max(limit.rlim_cur, wanted);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

class HttpFrontendTest : public ::testing::Test {
 protected:
  HttpFrontendTest() : host_("http", test::FakeHost::Threads::kReal) {
    set_default_options(host_.options());
    host_.registry().publish<ModelCatalog>("models", catalog_);
    host_.registry().publish<Listeners>("kernel", listeners_);
  }
  ~HttpFrontendTest() override {
    stop();
    EXPECT_EQ(host_.gate().count(), 0);
    EXPECT_EQ(host_.registry().holders(), 0u);
  }

  void start() {
    if (uses_tls()) use_tls();
    frontend_ = std::make_unique<HttpFrontend>(host_);
    Status status = frontend_->init();
    ASSERT_TRUE(status.ok()) << status.text();
    status = frontend_->start();
    ASSERT_TRUE(status.ok()) << status.text();
  }
  void use_tls() {
    std::ofstream(directory_.path() / "server.crt") << certificate_.cert();
    std::ofstream(directory_.path() / "server.key") << certificate_.key();
    host_.options()
        .set_bool("use_ssl", true)
        .set_string("server_cert", (directory_.path() / "server.crt").string())
        .set_string("server_key", (directory_.path() / "server.key").string());
  }
  void stop() { frontend_.reset(); }
  int port() const { return frontend_->bound_port(); }
  int64_t calls() const { return frontend_->calls(); }
  HttpClient client() const { return HttpClient(port()); }

  /// \param headers  complete lines
  static std::string request(const std::string& method, const std::string& path, const std::string& body = "",
                             const std::string& headers = "") {
    std::string text = method + " " + path + " HTTP/1.1\r\nHost: test\r\n" + headers;
    if (!body.empty() || method == "POST") text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    return text + "\r\n" + body;
  }
  Reply get(const std::string& path) { return client().ask(request("GET", path)); }
  Reply post(const std::string& path, const std::string& body = "", const std::string& headers = "") {
    return client().ask(request("POST", path, body, headers));
  }
  /// A JSON request for the FP32 [-1] model.
  static std::string infer_body(const std::string& values = "1.5, -2, 3", size_t count = 3,
                                const std::string& more = "") {
    return R"({"id":"7","inputs":[{"name":"INPUT0","datatype":"FP32","shape":[)" + std::to_string(count) +
           R"(],"data":[)" + values + "]}]" + more + "}";
  }
  Reply infer(const std::string& model, const std::string& headers = "") {
    return post("/v2/models/" + model + "/infer", infer_body(), headers);
  }
  static std::string infer_reply(const std::string& model = "m") {
    return R"({"id":"7","model_name":")" + model +
           R"(","model_version":"1","outputs":[{"name":"OUTPUT0","datatype":"FP32","shape":[3],"data":[1.5,-2.0,3.0]}]})";
  }
  /// The frontend still answers, which every test of bad input ends with.
  void expect_alive() {
    EXPECT_EQ(get("/v2/health/live").status, 200);
    EXPECT_EQ(get("/v2/health/ready").status, 200);
    const Reply reply = infer("probe");
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, infer_reply("probe"));
  }

  test::TemporaryDirectory directory_;
  const TestCertificate certificate_{"server"};
  test::FakeModelCatalog catalog_;
  test::FakeModelControl control_;
  runtime::ListenerList listeners_;
  test::FakeHost host_;
  std::unique_ptr<HttpFrontend> frontend_;
};

/// Status, and the text in {"error":...}.
inline void expect_error(const Reply& reply, int status, const std::string& text) {
  EXPECT_EQ(reply.status, status);
  EXPECT_EQ(reply.body, "{\"error\":\"" + text + "\"}");
  EXPECT_EQ(reply.header("content-type"), "application/json");
}

}  // namespace atl::frontends::http
