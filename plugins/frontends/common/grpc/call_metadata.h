/// What an inference request has from its call's metadata.
#pragma once

#include <string_view>

#include "atoll/frontend/access.h"
#include "atoll/models/model.h"
#include "frontends/common/grpc/call_context.h"

namespace atl::frontends {

/// The metadata of a call, for whatever transport brought it.
class CallMetadata : public CallHead {
 public:
  /// Calls `use(name, value)` for each field; those of one name in the order sent.
  template <class Use>
  void for_each(Use use) const {
    visit([](void* user, std::string_view name,
             std::string_view value) { (*static_cast<Use*>(user))(name, value); },
          &use);
  }
  /// The first value under a name; empty if there is none.
  std::string_view first(std::string_view name) const noexcept {
    std::string_view value;
    return find(name, {&value, 1}) == 0 ? std::string_view() : value;
  }

 protected:
  ~CallMetadata() = default;
  virtual void visit(void (*use)(void* user, std::string_view name, std::string_view value),
                     void* user) const = 0;
};

/// What a request has from its call's metadata.
/// - The metadata that matches becomes parameters, in place of those of the same names; of several values the
///   last counts. Binary metadata ("-bin") that is no text is left out.
/// - The tenant, which is that of the caller if there are identities, and a trace if the request is to have one.
/// Errors: INVALID_ARGUMENT a reserved name, a value that is not UTF-8, several tenants.
Status read_call_metadata(const GrpcCallContext& frontend, const CallMetadata& metadata,
                          const ModelInfo& model, const Identity* caller, Request& request) noexcept;

}  // namespace atl::frontends
