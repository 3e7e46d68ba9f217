/// What other plugins bring to a frontend, as they come, are replaced and go.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/followed_service.h"
#include "atoll/core/replaceable.h"
#include "atoll/core/text.h"
#include "atoll/frontend/access.h"

namespace atl::frontends {

/// One path that a provider answers.
template <class Interface>
struct Contribution {
  std::string path;                           ///< as the provider lists it
  std::string category;                       ///< its name
  std::optional<ApiCategory> known_category;  ///< of the frontend's own; none: the plugin's
  const Followed<Interface>* provider = nullptr;

  /// Sets known_category. \returns why the category cannot be used; empty: it can
  std::string judge_category() {
    for (uint32_t i = 0; i < kApiCategoryCount; ++i) {
      if (category != api_category_name(static_cast<ApiCategory>(i))) continue;
      known_category = static_cast<ApiCategory>(i);
      return {};
    }
    if (is_own_category(category)) return {};
    return cat("its category '", category,
               "' is none of the frontend's, and one of a plugin's own has a dot inside");
  }
};

/// Follows every provider of the interface, and keeps a list of what they bring: a path is that of the provider
/// of the higher rank, of the same rank that of the one whose instance's name is the first. What is not served
/// is logged, once while it lasts.
/// \tparam List  made of entries, each a Contribution: `bool add(Entry)`, false: the path is taken;
/// `const Entry* conflicting(const Entry&) const`, who has its path; null: it is free
template <class Interface, class List, class Entry>
class ContributedProviders {
 public:
  ContributedProviders(const ContributedProviders&) = delete;
  ContributedProviders& operator=(const ContributedProviders&) = delete;

  /// Takes what is there and follows the changes. [control] Errors: as EventBus::subscribe().
  Status open() noexcept {
    follow_new();
    return services_changed_.open(host_.events(), {.depth = 4096});
  }
  /// There are none from here on; returns when no call holds a provider. [control]
  void close() noexcept {
    services_changed_.reset();
    for (const auto& [instance, provider] : providers_) provider->close();
  }

  /// The list that there is now, which is never changed; empty: none. [any]
  typename Replaceable<List>::Hold list() const noexcept { return list_.hold(); }

 protected:
  /// \param noun  what an entry is called in the log
  ContributedProviders(Host& host, std::string_view noun) : host_(host), noun_(noun) {}
  /// The derived class has called close().
  ~ContributedProviders() = default;

 private:
  struct OnService {
    ContributedProviders& followed;
    void operator()(const ServiceChanged& event) const noexcept {
      if (event.interface_id.view() == Interface::kInterfaceId) followed.follow_new();
    }
  };

  // --- of the derived class; [control] ---
  /// What a provider brings, without the provider.
  virtual std::vector<Entry> entries_of(const Interface& provider) = 0;
  /// Completes an entry. \returns why it cannot be served; empty: it can
  virtual std::string complete(Entry& entry) = 0;

  /// Follows providers that were not known yet; the others tell of their changes themselves.
  void follow_new() noexcept {
    bool is_new = false;
    for (const ServiceInfo& info : host_.registry().list(Interface::kInterfaceId)) {
      auto& provider = providers_[info.instance];
      if (provider != nullptr) continue;
      is_new = true;
      provider = std::make_unique<Followed<Interface>>(
          host_, [this, name = info.instance] { return host_.registry().template find<Interface>(name); },
          [this] { rebuild(); });
      if (Status status = provider->open(); !status.ok()) {
        host_.log().warning("changes of the ", noun_, "s of '", info.instance,
                            "' are not seen: ", status.message());
      }
    }
    if (is_new) rebuild();
  }

  void rebuild() noexcept {
    std::vector<ServiceInfo> infos = host_.registry().list(Interface::kInterfaceId);
    std::stable_sort(infos.begin(), infos.end(), [](const ServiceInfo& left, const ServiceInfo& right) {
      return left.rank > right.rank;
    });
    List list;
    std::set<std::string> refusals;
    for (const ServiceInfo& info : infos) add_entries_of(info.instance, list, refusals);
    for (const std::string& refusal : refusals) {
      if (!refusals_.contains(refusal)) host_.log().warning(refusal);
    }
    refusals_ = std::move(refusals);
    list_.replace(std::move(list));
  }

  void add_entries_of(const std::string& instance, List& list, std::set<std::string>& refusals) {
    const auto found = providers_.find(instance);
    if (found == providers_.end() || found->second == nullptr) return;
    const auto provider = found->second->hold();
    if (!provider) return;
    for (Entry& entry : entries_of(*provider)) {
      entry.provider = found->second.get();
      std::string reason = complete(entry);
      if (reason.empty()) reason = taken(entry, instance, list);
      if (reason.empty()) {
        list.add(std::move(entry));
      } else {
        refusals.insert(
            cat("the ", noun_, " '", entry.path, "' of '", instance, "' is not served: ", reason));
      }
    }
  }

  /// Who has the path; empty: nobody.
  std::string taken(const Entry& entry, const std::string& instance, const List& list) const {
    const Entry* other = list.conflicting(entry);
    if (other == nullptr) return {};
    const auto of = std::find_if(providers_.begin(), providers_.end(),
                                 [&](const auto& known) { return known.second.get() == other->provider; });
    return of->first == instance ? "it is listed twice" : cat("'", of->first, "' has it already");
  }

  Host& host_;
  const std::string_view noun_;
  std::map<std::string, std::unique_ptr<Followed<Interface>>> providers_;  ///< by instance; kept
  std::set<std::string> refusals_;                                         ///< that were logged
  Replaceable<List> list_;
  Subscription<ServiceChanged, OnService> services_changed_{OnService{*this}};
};

}  // namespace atl::frontends
