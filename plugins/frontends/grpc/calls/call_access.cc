#include "frontends/grpc/calls/call_access.h"

namespace atl::frontends::grpc_frontend {

size_t MetadataHead::find(std::string_view name, std::span<std::string_view> values) const noexcept {
  auto [begin, end] = context_.client_metadata().equal_range(grpc::string_ref(name.data(), name.size()));
  size_t count = 0;
  for (auto value = begin; value != end; ++value, ++count) {
    if (count < values.size()) values[count] = {value->second.data(), value->second.size()};
  }
  return count;
}

void MetadataHead::visit(void (*use)(void* user, std::string_view name, std::string_view value),
                         void* user) const {
  for (const auto& [name, value] : context_.client_metadata()) {
    use(user, {name.data(), name.size()}, {value.data(), value.size()});
  }
}

bool CallAccess::ask_provider(const AccessPoint& point, ApiCategory category, std::string_view name,
                              const grpc::ServerContext& context, grpc::ServerCompletionQueue& queue,
                              Event& settled, bool is_probe) noexcept {
  queue_ = &queue;
  settled_ = &settled;
  const MetadataHead head(context);
  auto wake = [](void* self) noexcept {
    auto* access = static_cast<CallAccess*>(self);
    access->wake_up_.send(*access->queue_, *access->settled_);
  };
  return check_.ask(point, {category, name, CallProtocol::kGrpc, head, is_probe}, wake, this);
}

}  // namespace atl::frontends::grpc_frontend
