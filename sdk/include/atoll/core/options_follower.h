/// Options that change while an instance goes on. Service "atoll.options_follower/1", provided by
/// plugins that keep what clients gave them, such as loaded models or registered regions: a change
/// of their options in the manifest then takes nothing of that away.
///
///     bool can_follow(const Options& next) noexcept override { return Settings::read(next).ok(); }
///     void follow(const Options& next) noexcept override { settings_.replace(*Settings::read(next)); }
#pragma once

#include <string_view>

#include "atoll/core/options.h"
#include "atoll/core/text.h"

namespace atl {

/// At a reload, the kernel asks an instance of which nothing but options differ. Without this
/// service, or if the instance says no, the kernel builds the instance anew beside the running one,
/// and so it does with every instance that requires services of it.
///
/// Host::options() stays what the instance was made with. What is followed is copied out of `next`,
/// because `next` ends with the call. [control]
class OptionsFollower {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.options_follower/1";

  /// Whether the instance can go on with these options. The call changes nothing, since the reload
  /// may still be refused. The options have passed the plugin's check (option_check.h). For values
  /// that init() would refuse the answer is false: then the instance is built anew, and init()'s
  /// own message refuses the reload.
  virtual bool can_follow(const Options& next) noexcept = 0;
  /// The reload is applied: the instance takes over the options, to which can_follow() has said yes
  /// in the same reload. Cannot fail.
  virtual void follow(const Options& next) noexcept = 0;

 protected:
  ~OptionsFollower() = default;
};

/// An instance follows other options now. Whoever depends on what they say looks again. Published
/// by the kernel after follow(); this is news and no state, so it is not retained.
struct OptionsFollowed {
  static constexpr std::string_view kEventId = "atoll.options_followed/1";
  /// The instance's name in the manifest.
  FixedText<128> instance;
  std::string_view key() const noexcept { return instance.view(); }
};

}  // namespace atl
