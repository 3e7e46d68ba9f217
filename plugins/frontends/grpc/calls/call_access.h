/// Whether a gRPC call may be made.
#pragma once

#include <grpcpp/server_context.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "frontends/common/access/access_check.h"
#include "frontends/common/grpc/call_metadata.h"
#include "frontends/grpc/calls/event.h"
#include "frontends/grpc/wake_up.h"

namespace atl::frontends::grpc_frontend {

/// What a call has brought before its message. Lives as long as the call's context.
class MetadataHead final : public CallMetadata {
 public:
  explicit MetadataHead(const grpc::ServerContext& context) : context_(context) {}
  virtual ~MetadataHead() = default;
  size_t find(std::string_view name, std::span<std::string_view> values) const noexcept override;
  std::string peer() const noexcept override { return context_.peer(); }
  const ClientCertificate* certificate() const noexcept override;

 private:
  void visit(void (*use)(void* user, std::string_view name, std::string_view value),
             void* user) const override;

  const grpc::ServerContext& context_;
  mutable std::shared_ptr<const ClientCertificate> certificate_;
};

/// Part of a call, or of a context that is used for one after the other. [queue's thread]
class CallAccess {
 public:
  /// \param path  of the method
  /// \param settled  if the call waits: ends on the queue's thread when there is an answer
  /// \returns true: there is an answer, or nobody to ask
  /// \param is_probe  as of AccessQuestion
  bool ask(const AccessPoint& point, const CallName& path, ApiCategory category,
           const grpc::ServerContext& context, grpc::ServerCompletionQueue& queue, Event& settled,
           bool is_probe = false) noexcept {
    return !point.asks() || ask_provider(point, path, category, api_category_name(category), context, queue,
                                         settled, is_probe);
  }
  /// The same for a call of another plugin's. \param name  of the category, as of AccessQuestion
  bool ask(const AccessPoint& point, const CallName& path, ApiCategory category, std::string_view name,
           const grpc::ServerContext& context, grpc::ServerCompletionQueue& queue, Event& settled) noexcept {
    return !point.asks() || ask_provider(point, path, category, name, context, queue, settled, false);
  }
  /// As AccessCheck::take().
  Status take(std::string_view* caller) noexcept { return check_.take(caller); }
  /// As those of AccessCheck.
  const CallerIdentityPtr& identity() const noexcept { return check_.identity(); }
  CallerIdentityPtr take_identity() noexcept { return check_.take_identity(); }
  CallReport* report() const noexcept { return check_.report(); }
  void set_status(int32_t status) noexcept { check_.set_status(status); }
  void forget() noexcept { check_.forget(); }

 private:
  bool ask_provider(const AccessPoint& point, const CallName& path, ApiCategory category,
                    std::string_view name, const grpc::ServerContext& context,
                    grpc::ServerCompletionQueue& queue, Event& settled, bool is_probe) noexcept;

  AccessCheck check_;
  WakeUp wake_up_;
  grpc::ServerCompletionQueue* queue_ = nullptr;
  Event* settled_ = nullptr;
};

}  // namespace atl::frontends::grpc_frontend
