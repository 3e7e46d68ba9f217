/// The methods that are served, as one thread has them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontends/grpc_nghttp2/call_thread.h"
#include "frontends/grpc_nghttp2/transport/call.h"

namespace atl::frontends::grpc_nghttp2 {

class MethodSet final : public MethodFinder {
 public:
  MethodSet(GrpcCallContext& frontend, ServingThread& worker);
  virtual ~MethodSet();

  Method* find(std::string_view path) noexcept override;
  CallThread& thread() noexcept { return thread_; }

 private:
  class InferMethod;
  class StreamMethod;
  /// So that methods of several types are one.
  struct OwnedMethod {
    virtual ~OwnedMethod() = default;
    virtual Method& method() noexcept = 0;
  };
  template <class Request, class Response>
  class ManagementMethod;
  class ReflectionMethod;
  class ContributedMethod;

  /// Of another plugin's; null: nobody has it.
  Method* find_contributed(std::string_view path);

  CallThread thread_;
  std::unique_ptr<InferMethod> infer_;
  std::unique_ptr<StreamMethod> stream_infer_;
  std::unordered_map<std::string_view, std::unique_ptr<OwnedMethod>> methods_;  ///< by literals
  /// Those that were called. Kept, as calls refer to them; who has them now is looked up for each call.
  std::map<std::string, std::unique_ptr<ContributedMethod>, std::less<>> contributed_;
};

/// What the frontend serves.
class ServedMethods final : public Application {
 public:
  explicit ServedMethods(GrpcCallContext& frontend) noexcept : frontend_(frontend) {}
  virtual ~ServedMethods() = default;
  std::unique_ptr<MethodFinder> make_methods(ServingThread& worker) override;

  /// [control] Streams end, whatever they wait for.
  void end_streams() noexcept;
  /// [any] Streams that are not over.
  size_t open_streams() const noexcept;

 private:
  struct OfThread {
    ServingThread& worker;
    CallThread& thread;
  };

  GrpcCallContext& frontend_;
  std::vector<OfThread> threads_;  ///< as long as their server runs
};

}  // namespace atl::frontends::grpc_nghttp2
