/// The methods that are served, as one thread has them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "frontends/grpc_nghttp2/call_thread.h"
#include "frontends/grpc_nghttp2/transport/call.h"

namespace atl::frontends::grpc_nghttp2 {

class MethodSet final : public MethodFinder {
 public:
  MethodSet(GrpcCallContext& frontend, Worker& worker);
  virtual ~MethodSet();

  Method* find(std::string_view path) noexcept override;

 private:
  class InferMethod;
  /// So that methods of several types are one.
  struct OwnedMethod {
    virtual ~OwnedMethod() = default;
    virtual Method& method() noexcept = 0;
  };
  template <class Request, class Response>
  class ManagementMethod;

  CallThread thread_;
  std::unique_ptr<InferMethod> infer_;
  std::unordered_map<std::string_view, std::unique_ptr<OwnedMethod>> methods_;  ///< by literals
};

/// What the frontend serves.
class ServedMethods final : public Application {
 public:
  explicit ServedMethods(GrpcCallContext& frontend) noexcept : frontend_(frontend) {}
  virtual ~ServedMethods() = default;
  std::unique_ptr<MethodFinder> make_methods(Worker& worker) override {
    return std::make_unique<MethodSet>(frontend_, worker);
  }

 private:
  GrpcCallContext& frontend_;
};

}  // namespace atl::frontends::grpc_nghttp2
