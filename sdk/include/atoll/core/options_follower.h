/// Options that change while an instance goes on. Service "atoll.options_follower/1", provided by plugins that keep
/// what clients gave them: an edit of their table in the manifest then takes nothing of it away.
#pragma once

#include <string_view>

#include "atoll/core/options.h"
#include "atoll/core/text.h"

namespace atl {

/// Asked at a reload of an instance of which nothing but options differ. Without this service, or where it says no, the
/// instance is built anew beside the running one, and so is every instance that requires its services.
///
/// Host::options() stays what the instance was made with: what is followed is taken from `next`, by value, because
/// `next` ends with the call. [control]
class OptionsFollower {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.options_follower/1";

  /// Whether the instance can go on with these options; changes nothing, since the reload may still be refused. A reload
  /// asks only with options that the plugin's check (option_check.h) has passed. For values that init() would refuse the
  /// answer is false: then the instance is built anew, and init()'s own message refuses the reload.
  virtual bool can_follow(const Options& next) noexcept = 0;
  /// The reload is applied; can_follow() has said yes to the same options in the same reload. Cannot fail.
  virtual void follow(const Options& next) noexcept = 0;

 protected:
  ~OptionsFollower() = default;
};

/// An instance follows other options: who depends on what they say looks again. News, not a state: it is not retained.
struct OptionsFollowed {
  static constexpr std::string_view kEventId = "atoll.options_followed/1";
  FixedText<128> instance;  ///< its name in the manifest
  std::string_view key() const noexcept { return instance.view(); }
};

}  // namespace atl
