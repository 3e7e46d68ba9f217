/// Who makes a call, kept by the call.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
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

/// Models that a call which goes on may use, to be asked for again when what its caller may do has changed. Bounded. [any]
class UsedModels {
 public:
  static constexpr size_t kMost = 16;

  void add(ApiCategory category, std::string_view category_name, std::string_view model) {
    const std::lock_guard lock(mutex_);
    // A stream mostly asks for one model again and again.
    for (auto one = list_.rbegin(); one != list_.rend(); ++one) {
      if (one->model == model && one->category_name == category_name) return;
    }
    are_more_ = are_more_ || list_.size() == kMost;
    if (!are_more_) list_.push_back({category, std::string(category_name), std::string(model)});
  }
  /// Whether the caller may still use all of them. If there were more than are kept: whether it may use all models.
  bool are_for(const Identity& caller) const {
    std::unique_lock lock(mutex_);
    const std::vector<Used> used = list_;
    const bool are_more = are_more_;
    lock.unlock();
    return std::ranges::all_of(used, [&](const Used& one) {
      return are_more ? caller.may_all(one.category, one.category_name)
                      : caller.may(one.category, one.category_name, one.model);
    });
  }

 private:
  struct Used {
    ApiCategory category;
    std::string category_name, model;
  };

  mutable std::mutex mutex_;
  std::vector<Used> list_;
  bool are_more_ = false;
};

/// An identity that has others hear what it is asked about models.
class WatchedIdentity final : public Identity {
 public:
  /// \param identity  outlives this \param report  null: nobody records the call \param used  null: nobody asks again
  WatchedIdentity(const Identity& identity, std::shared_ptr<CallReport> report,
                  std::shared_ptr<UsedModels> used) noexcept
      : identity_(identity), report_(std::move(report)), used_(std::move(used)) {}
  ~WatchedIdentity() override = default;

  std::string_view name() const noexcept override { return identity_.name(); }
  std::string_view tenant() const noexcept override { return identity_.tenant(); }
  bool may(ApiCategory category, std::string_view category_name,
           std::string_view model) const noexcept override {
    const bool is_allowed = identity_.may(category, category_name, model);
    if (model.empty()) return is_allowed;
    if (report_ != nullptr) report_->on_asked(category_name, model, is_allowed);
    if (used_ != nullptr && is_allowed) used_->add(category, category_name, model);
    return is_allowed;
  }
  bool may_all(ApiCategory category, std::string_view category_name) const noexcept override {
    return identity_.may_all(category, category_name);
  }
  bool holds() const noexcept override { return identity_.holds(); }
  const std::shared_ptr<CallReport>& report() const noexcept { return report_; }
  const std::shared_ptr<UsedModels>& used() const noexcept { return used_; }

 private:
  const Identity& identity_;
  const std::shared_ptr<CallReport> report_;
  const std::shared_ptr<UsedModels> used_;
};

/// An identity with the hold on its source, whose code it has. [any]
class CallerIdentity {
 public:
  /// \param report  of its call; null: nobody records it
  /// \param used  models of its call; null: it does not go on
  CallerIdentity(Replaceable<IdentityChain>::Hold sources, std::shared_ptr<const Identity> identity,
                 std::shared_ptr<CallReport> report, std::shared_ptr<UsedModels> used) noexcept
      : sources_(std::move(sources)), identity_(std::move(identity)) {
    if (report != nullptr || used != nullptr)
      watched_.emplace(*identity_, std::move(report), std::move(used));
  }

  const Identity& get() const noexcept {
    return watched_ ? static_cast<const Identity&>(*watched_) : *identity_;
  }
  std::shared_ptr<CallReport> report() const noexcept { return watched_ ? watched_->report() : nullptr; }
  std::shared_ptr<UsedModels> used() const noexcept { return watched_ ? watched_->used() : nullptr; }
  /// False: the caller is to be identified anew, and this to be let go of.
  bool holds() const noexcept { return !sources_.is_outdated() && identity_->holds(); }

 private:
  Replaceable<IdentityChain>::Hold sources_;
  std::shared_ptr<const Identity> identity_;  ///< ends before the sources
  std::optional<WatchedIdentity> watched_;    ///< ends first
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
