/// security/sessions: people who log in with a key, in a browser.
#include "atoll/core/plugin.h"

#include <optional>

#include "security/sessions/login_routes.h"
#include "security/sessions/session_source.h"

namespace atl::sessions {
namespace {

constexpr OptionTable kOptions{
    option_duration("lifetime", "8h")
        .range("1m", "8h")
        .help("Time after which who has logged in has to do so again."),
    option_int("max_sessions", 1000).range(1, 100000).help("Sessions at a time; one more ends the oldest."),
};

class SessionsPlugin final : public Plugin, public Access {
 public:
  explicit SessionsPlugin(Host& host) : host_(host) {}

  Status init() override {
    const Options& options = host_.options();
    const int64_t lifetime_ns = options.get_duration_ns("lifetime");
    table_.emplace(host_.clock(), lifetime_ns, static_cast<uint64_t>(options.get_int("max_sessions")));
    source_.emplace(host_, *table_);
    routes_.emplace(host_, *table_, *source_, lifetime_ns);
    return {};
  }
  Status start() override { return source_->open(); }
  void stop() override { source_->close(); }
  HttpRoutes& routes() noexcept { return *routes_; }

  // --- Access ---
  Result<AccessOutcome> ask(const AccessQuestion&, AccessWaiter&, std::string_view*) noexcept override {
    return AccessOutcome::kAllowed;
  }
  uint32_t roles() const noexcept override { return kKnowsCallers; }
  Result<IdentityOutcome> identify(const AccessQuestion& question,
                                   std::shared_ptr<const Identity>* identity) noexcept override {
    return source_->identify(question, identity);
  }

 private:
  Host& host_;
  std::optional<SessionTable> table_;
  std::optional<SessionSource> source_;
  std::optional<LoginRoutes> routes_;
};

}  // namespace

ATOLL_PLUGIN(
    SessionsPlugin,
    {.name = "security/sessions",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help = "Lets people log in to the console with a key.",
     // Below the sources of tokens, which know the keys, and above certificates, which are the connection's.
     .provides = {provide<Access>().minor(1).rank(-1), provide<HttpRoutes, &SessionsPlugin::routes>()},
     .needs = {many<Access>()},
     .options = kOptions});

}  // namespace atl::sessions
