/// One call that is not inference.
#pragma once

#include <string>

#include "atoll/core/gate.h"
#include "frontends/common/http/call.h"
#include "frontends/common/management/management.h"
#include "frontends/http/route_table.h"
#include "frontends/http/thread_context.h"
#include "grpc_service.pb.h"

namespace atl::frontends::http {

class ManagementCall final : public Call, public Posted {
 public:
  ManagementCall(ThreadContext& context, const Route& route) : context_(context), route_(route) {
    charge_.set_source(*context.frontend.server.request_memory, Code::kUnavailable);
  }

  // --- Call ---
  void run(Channel& channel) noexcept override;
  void on_written() noexcept override;
  void on_gone() noexcept override;

  // --- Posted ---
  void on_posted() noexcept override { answer(std::move(status_), {}); }

 private:
  ~ManagementCall() = default;

  /// Index, load or unload: ends with finish(). On failure nothing was begun.
  Status begin(std::string_view body) noexcept;
  /// Loads a model; ends with finish(). [any]
  void load(std::string_view body, std::string_view model, std::string_view repository) noexcept;
  /// The call has ended. [any]
  void finish(Status status) noexcept;
  void answer(Status status, std::string json) noexcept;

  ThreadContext& context_;
  Pass pass_;
  CallerIdentityPtr caller_;    ///< ends before the pass
  RequestCharge charge_;        ///< the same
  Channel* channel_ = nullptr;  ///< null: the client has gone
  Route route_;                 ///< its views are valid while run() runs
  bool answered_ = false;
  Status status_;
  inference::RepositoryIndexResponse index_;
};

}  // namespace atl::frontends::http
