/// The plugin's routes over scripted models.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/fake_http_exchange.h"
#include "frontends/tfserving/serving_routes.h"

namespace atl::frontends::tfserving {

/// A router with one label: "stable" of "echo" is version 1.
class OneLabel final : public ModelRouter {
 public:
  explicit OneLabel(ModelCatalog& catalog) : catalog_(catalog) {}
  virtual ~OneLabel() = default;

  std::optional<int64_t> labelled(std::string_view model, std::string_view label) const noexcept override {
    return model == "echo" && label == "stable" ? std::optional<int64_t>(1) : std::nullopt;
  }
  Result<ModelRef> route(std::string_view model, int64_t version) noexcept override {
    return catalog_.acquire(model, version);
  }

 private:
  ModelCatalog& catalog_;
};

/// Models: "echo" with versions 1 and 3 gives FP32 [-1] back, 4 rows at a time; "pair" has two inputs and outputs, FP32 and
/// BYTES, of one value a row.
class ScriptedServing {
 public:
  using FakeServedModel = test::FakeServedModel;

  explicit ScriptedServing(std::string prefix = "", bool has_kserve_status = false) : router(catalog) {
    echo = &catalog.add_identity("echo", DataType::kFp32, 4, 3);
    old = &catalog.add_identity("echo", DataType::kFp32, 4, 1);
    ModelInfo info;
    info.name = "pair";
    info.version = 1;
    info.max_batch_size = 8;
    for (const DataType type : {DataType::kFp32, DataType::kBytes}) {
      TensorSpec& spec = info.inputs.emplace_back();
      spec.name = type == DataType::kBytes ? "text" : "x";
      spec.datatype = type;
      spec.dims = {1};
    }
    info.outputs = info.inputs;
    pair = &catalog.add(std::move(info));
    host.registry().publish<ModelCatalog>("models", catalog);
    host.registry().publish<ModelRouter>("router", router);
    routes = std::make_unique<ServingRoutes>(
        host, ServingSettings{std::move(prefix), TenantHeader::parse("x-tenant").value(),
                              /*max_elements=*/1000, has_kserve_status});
    EXPECT_TRUE(routes->start().ok());
  }
  ~ScriptedServing() {
    // A call's thread may still be on its way out; the server waits for it likewise.
    host.gate().close();
    while (host.gate().count() != 0) std::this_thread::yield();
    routes->stop();
    for (const FakeServedModel* model : {echo, old, pair}) EXPECT_EQ(model->references(), 0);
  }

  test::ReceivedHttpReply ask(const std::string& method, const std::string& path, std::string body = {},
                              std::vector<std::pair<std::string, std::string>> headers = {}) {
    test::FakeHttpExchange exchange({method, path, {}, std::move(headers), std::move(body)});
    exchange.send_to(*routes, "/v1/models/*");
    EXPECT_TRUE(exchange.wait_end(std::chrono::minutes(1)));
    for (const std::string& problem : exchange.problems()) ADD_FAILURE() << problem;
    return exchange.reply();
  }

  test::FakeHost host{"tfserving", test::FakeHost::Threads::kReal};
  test::FakeModelCatalog catalog;
  OneLabel router;
  FakeServedModel *echo, *old, *pair;
  std::unique_ptr<ServingRoutes> routes;
};

}  // namespace atl::frontends::tfserving
