#include "frontends/common/grpc/remote_target.h"

#include "frontends/common/codec/wire_messages.h"

namespace atl::frontends {
namespace {

Result<std::optional<HostPort>> grpc_of(const ServerAccess& server, const Identity* caller,
                                        std::string_view model, std::string_view lease) noexcept {
  Result<std::optional<RemoteServer>> found = find_remote_server(server, caller, model, lease);
  if (!found.ok()) return std::move(found).status();
  if (!*found) return std::optional<HostPort>();
  if ((*found)->grpc.host.empty()) return unimplemented(messages::remote_without_grpc(model));
  return std::optional(std::move((*found)->grpc));
}

}  // namespace

Result<std::optional<HostPort>> remote_of_inference(const ServerAccess& server, const Identity* caller,
                                                    V2InferRequest& message,
                                                    std::string_view lease) noexcept {
  Result<std::optional<HostPort>> found = grpc_of(server, caller, message.model_name(), lease);
  if (found.ok() && found.value() && message.uses_shared_memory())
    return Status(Code::kInvalidArgument, messages::remote_shared_memory(message.model_name()));
  return found;
}

Result<std::optional<HostPort>> remote_of_question(const ServerAccess& server, const Identity* caller,
                                                   ApiCategory category, std::string_view model,
                                                   std::string_view lease) noexcept {
  if (category != ApiCategory::kHealth) return grpc_of(server, caller, model, lease);
  if (Result<std::optional<RemoteServer>> found = find_remote_server(server, caller, model, lease);
      !found.ok())
    return std::optional<HostPort>();
  return grpc_of(server, caller, model, lease);
}

}  // namespace atl::frontends
