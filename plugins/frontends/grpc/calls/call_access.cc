#include "frontends/grpc/calls/call_access.h"

#include <grpc/grpc_security_constants.h>

#include "frontends/common/tls/client_certificate.h"

namespace atl::frontends::grpc_frontend {

size_t MetadataHead::find(std::string_view name, std::span<std::string_view> values) const noexcept {
  auto [begin, end] = context_.client_metadata().equal_range(grpc::string_ref(name.data(), name.size()));
  size_t count = 0;
  for (auto value = begin; value != end; ++value, ++count) {
    if (count < values.size()) values[count] = {value->second.data(), value->second.size()};
  }
  return count;
}

// The library verifies what it was told to demand, and says nothing of times: so the whole certificate is read.
const ClientCertificate* MetadataHead::certificate() const noexcept {
  if (certificate_ != nullptr) return certificate_.get();
  const std::shared_ptr<const grpc::AuthContext> peer = context_.auth_context();
  if (peer == nullptr || !peer->IsPeerAuthenticated()) return nullptr;
  const std::vector<grpc::string_ref> texts = peer->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (texts.size() == 1) certificate_ = read_client_certificate({texts[0].data(), texts[0].size()});
  return certificate_.get();
}

void MetadataHead::visit(void (*use)(void* user, std::string_view name, std::string_view value),
                         void* user) const {
  for (const auto& [name, value] : context_.client_metadata()) {
    use(user, {name.data(), name.size()}, {value.data(), value.size()});
  }
}

bool CallAccess::ask_provider(const AccessPoint& point, const CallName& path, ApiCategory category,
                              std::string_view name, const grpc::ServerContext& context,
                              grpc::ServerCompletionQueue& queue, Event& settled, bool is_probe) noexcept {
  queue_ = &queue;
  settled_ = &settled;
  const MetadataHead head(context);
  auto wake = [](void* self) noexcept {
    auto* access = static_cast<CallAccess*>(self);
    access->wake_up_.send(*access->queue_, *access->settled_);
  };
  return check_.ask(point, {category, name, CallProtocol::kGrpc, head, is_probe}, path, wake, this);
}

}  // namespace atl::frontends::grpc_frontend
