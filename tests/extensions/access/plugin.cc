/// tests/access: callers that are known by a token, as a service elsewhere would say it. The answer comes later, from a thread of the plugin's.
#include "atoll/core/plugin.h"

#include <array>
#include <map>
#include <string>
#include <utility>

#include "atoll/core/executor.h"
#include "atoll/frontend/access.h"

namespace atl {
namespace {

class AccessPlugin final : public Plugin, public Access {
 public:
  explicit AccessPlugin(Host& host) : host_(host) {}

  Status start() override {
    Result<SerialExecutorPtr> thread = host_.executors().create("access", {});
    if (!thread.ok()) return std::move(thread).status();
    thread_ = std::move(thread).value();
    return {};
  }
  // Nobody holds the service any more, so nothing waits.
  void stop() override { thread_.reset(); }

  Result<AccessOutcome> ask(const AccessQuestion& question, AccessWaiter& waiter,
                            std::string_view* caller) noexcept override {
    *caller = {};
    if (question.category == ApiCategory::kHealth) return AccessOutcome::kAllowed;
    std::array<std::string_view, 1> tokens;
    const size_t count = question.head.find("x-token", tokens);
    if (count != 1) return make_status(Code::kUnauthenticated, "one x-token is expected, found ", count);
    thread_->post(make_task([this, &waiter, token = std::string(tokens[0])] {
      const auto& names = host_.options().get_map("tokens");
      const auto known = names.find(token);
      if (known == names.end()) {
        waiter.on_access(Status(Code::kPermissionDenied, "nobody has this token"), {});
      } else {
        waiter.on_access({}, known->second);
      }
    }));
    return AccessOutcome::kWaits;
  }

 private:
  Host& host_;
  SerialExecutorPtr thread_;
};

constexpr OptionTable kOptions{
    option_string_map("tokens").help("Tokens, and the names of those who have them.")};

}  // namespace

ATOLL_PLUGIN(AccessPlugin, {.name = "tests/access",
                            .version = "1.0.0",
                            .license = "Apache-2.0",
                            .help = "Knows callers by their tokens.",
                            .provides = {provide<Access>()},
                            .options = kOptions});

}  // namespace atl
