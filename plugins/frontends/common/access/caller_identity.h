/// Who makes a call, kept by the call.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/registry.h"
#include "atoll/core/replaceable.h"
#include "atoll/frontend/access.h"
#include "atoll/models/model_identifier.h"
#include "frontends/common/access/call_report.h"

namespace atl::frontends {

/// The sources of identities, in the order in which they are asked.
struct IdentityChain {
  std::vector<Service<Access>> sources;
  std::vector<std::string> instances;  ///< that provide them
};

/// An identity that has the report of its call hear what it is asked about models.
class ReportedIdentity final : public Identity {
 public:
  /// \param identity  outlives this
  ReportedIdentity(const Identity& identity, std::shared_ptr<CallReport> report) noexcept
      : identity_(identity), report_(std::move(report)) {}
  ~ReportedIdentity() override = default;

  std::string_view name() const noexcept override { return identity_.name(); }
  std::string_view tenant() const noexcept override { return identity_.tenant(); }
  bool may(ApiCategory category, std::string_view category_name,
           std::string_view model) const noexcept override {
    const bool is_allowed = identity_.may(category, category_name, model);
    if (!model.empty()) report_->on_asked(category_name, model, is_allowed);
    return is_allowed;
  }
  bool may_all(ApiCategory category, std::string_view category_name) const noexcept override {
    return identity_.may_all(category, category_name);
  }
  bool holds() const noexcept override { return identity_.holds(); }
  const std::shared_ptr<CallReport>& report() const noexcept { return report_; }

 private:
  const Identity& identity_;
  const std::shared_ptr<CallReport> report_;
};

/// An identity with the hold on its source, whose code it has. [any]
class CallerIdentity {
 public:
  /// \param report  of its call; null: nobody records it
  CallerIdentity(Replaceable<IdentityChain>::Hold sources, std::shared_ptr<const Identity> identity,
                 std::shared_ptr<CallReport> report) noexcept
      : sources_(std::move(sources)), identity_(std::move(identity)) {
    if (report != nullptr) reported_.emplace(*identity_, std::move(report));
  }

  const Identity& get() const noexcept {
    return reported_ ? static_cast<const Identity&>(*reported_) : *identity_;
  }
  std::shared_ptr<CallReport> report() const noexcept { return reported_ ? reported_->report() : nullptr; }
  /// False: the caller is to be identified anew, and this to be let go of.
  bool holds() const noexcept { return !sources_.is_outdated() && identity_->holds(); }

 private:
  Replaceable<IdentityChain>::Hold sources_;
  std::shared_ptr<const Identity> identity_;  ///< ends before the sources
  std::optional<ReportedIdentity> reported_;  ///< ends first
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
