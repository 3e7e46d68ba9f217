/// The request path in this process, without sockets and threads: what a frontend reads from, the model
/// catalog, the default scheduler, the identity backend, and what a frontend writes. An identity model of
/// FP32 [16].
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "atoll/testing/fake_host.h"
#include "atoll/testing/fake_repository.h"
#include "atoll/testing/fake_request_memory.h"
#include "backends/identity/identity_backend.h"
#include "frontends/common/call/request_budgets.h"
#include "models/catalog/testing/test_support.h"
#include "schedulers/default/default_provider.h"

namespace atl::bench {

/// A loaded model behind the real catalog, in simulation: nothing runs but on the calling thread.
class ServedIdentity {
 public:
  ServedIdentity();
  ServedIdentity(const ServedIdentity&) = delete;
  ServedIdentity& operator=(const ServedIdentity&) = delete;
  ~ServedIdentity();

  ModelCatalog& catalog() noexcept;
  const frontends::RequestBudgets& budgets() const noexcept { return budgets_; }
  /// Lets what waits for another thread happen; needed until executions are known to be light.
  void run_ready() { host_.run_ready(); }

  static constexpr char kModel[] = "identity";

 private:
  test::FakeHost host_;
  test::FakeRequestMemory request_memory_;
  frontends::RequestBudgets budgets_{host_};
  test::FakeRepository repository_;
  models::TextConfigs configs_;
  identity::IdentityBackend backend_;
  schedulers::DefaultProvider scheduler_;
  std::unique_ptr<models::CatalogPlugin> plugin_;
};

/// One kind of request, again and again: from the bytes that came to the bytes that go.
class Path {
 public:
  virtual ~Path() = default;
  /// \returns the bytes of the answer; 0: it was an error
  virtual size_t run() = 0;
  /// Until run() runs without another thread and everything that is reused is there.
  void warm_up(ServedIdentity& served);
};

/// ModelInfer.
std::unique_ptr<Path> grpc_path(ServedIdentity& served);
/// POST infer with the tensor behind the JSON.
std::unique_ptr<Path> http_binary_path(ServedIdentity& served);
/// POST infer with the tensor in the JSON, in and out.
std::unique_ptr<Path> http_json_path(ServedIdentity& served);
/// A gRPC call over HTTP/2 as frontends/grpc_nghttp2 has it, without the model: what grpc_path() is without.
std::unique_ptr<Path> http2_path();

/// A serialized ModelInferRequest.
std::string grpc_message();

}  // namespace atl::bench
