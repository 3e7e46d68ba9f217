/// Who makes a call, kept by the call.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/registry.h"
#include "atoll/core/replaceable.h"
#include "atoll/frontend/access.h"
#include "atoll/models/model_identifier.h"

namespace atl::frontends {

/// The sources of identities, in the order in which they are asked.
struct IdentityChain {
  std::vector<Service<Access>> sources;
};

/// An identity with the hold on its source, whose code it has. [any]
class CallerIdentity {
 public:
  CallerIdentity(Replaceable<IdentityChain>::Hold sources, std::shared_ptr<const Identity> identity) noexcept
      : sources_(std::move(sources)), identity_(std::move(identity)) {}

  const Identity& get() const noexcept { return *identity_; }
  /// False: the caller is to be identified anew, and this to be let go of.
  bool holds() const noexcept { return !sources_.is_outdated() && identity_->holds(); }

 private:
  Replaceable<IdentityChain>::Hold sources_;
  std::shared_ptr<const Identity> identity_;  ///< ends first
};

/// Null: there is no source of identities, and all is allowed.
using CallerIdentityPtr = std::shared_ptr<const CallerIdentity>;

inline const Identity* identity_of(const CallerIdentityPtr& caller) noexcept {
  return caller == nullptr ? nullptr : &caller->get();
}

/// Whether a call of the category may be about the model. \param identity  null: there are no identities
/// \param model  name or identifier, of which the name counts
inline bool may_use(const Identity* identity, ApiCategory category, std::string_view category_name,
                    std::string_view model) noexcept {
  return identity == nullptr || identity->may(category, category_name, model_name_of(model));
}
/// \param category  not kOther
inline bool may_use(const Identity* identity, ApiCategory category, std::string_view model) noexcept {
  return identity == nullptr || may_use(identity, category, api_category_name(category), model);
}

}  // namespace atl::frontends
