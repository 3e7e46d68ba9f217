/// security/keys: calls that need a key.
#include "atoll/core/plugin.h"

#include <optional>
#include <utility>

#include "security/keys/keys.h"
#include "security/keys/token_source.h"

namespace atl::keys {
namespace {

class KeysPlugin final : public Plugin, public Access {
 public:
  explicit KeysPlugin(Host& host) : host_(host) {}

  Status init() override {
    const Options& options = host_.options();
    Result<Keys> keys =
        Keys::parse(options.get_strings("restricted_protocols"), options.get_strings("restricted_apis"));
    if (!keys.ok()) return std::move(keys).status();
    keys_ = std::move(keys).value();
    if (const std::string& file = options.get_string("keys_file"); !file.empty()) {
      tokens_.emplace(host_, file, options.get_string("probes") == "open",
                      options.get_duration_ns("poll_interval"));
      roles_ = kKnowsCallers;
      if (!options.get_strings("restricted_protocols").empty() ||
          !options.get_strings("restricted_apis").empty())
        roles_ |= kJudgesCalls;
    }
    return {};
  }
  Status start() override { return tokens_ ? tokens_->start() : Status(); }
  void stop() override { tokens_.reset(); }

  // --- Access ---
  Result<AccessOutcome> ask(const AccessQuestion& question, AccessWaiter& waiter,
                            std::string_view* caller) noexcept override {
    return keys_.ask(question, waiter, caller);
  }
  uint32_t roles() const noexcept override { return roles_; }
  Result<IdentityOutcome> identify(const AccessQuestion& question,
                                   std::shared_ptr<const Identity>* identity) noexcept override {
    return tokens_ ? tokens_->identify(question, identity) : IdentityOutcome::kNotMine;
  }

 private:
  Host& host_;
  Keys keys_;
  uint32_t roles_ = kJudgesCalls;
  std::optional<TokenSource> tokens_;
};

constexpr OptionTable kOptions{
    option_string("keys_file", "")
        .help(
            "File of keys, by which callers are known: lines 'id:SHA-256 of the token:permissions'. Then every call needs one of its tokens. Empty: none, and only the options below restrict calls."),
    option_string("probes", "open")
        .choices("open|closed")
        .help(
            "With a file: whether calls that ask if the server lives or is ready need a token (closed), or not (open)."),
    option_duration("poll_interval", "500ms")
        .range("0s", "86400s")
        .help("Time between two looks whether the file has changed; 0: only SIGHUP has it read again."),
    option_string_list("restricted_protocols")
        .help(
            "gRPC calls that need a key, as 'category,category:key=value': metadata 'triton-grpc-protocol-<key>' must be the value. Categories: health, metadata, inference, shared-memory, model-config, model-repository, statistics, trace, logging, and those of plugins that add calls, whose names have a dot."),
    option_string_list("restricted_apis")
        .help(
            "HTTP calls that need a key, as 'category,category:key=value': the header '<key>' must be the value. Categories: the same, and metrics (the page)."),
};

void check_options(OptionCheck& check) {
  if (const std::string& file = check.options().get_string("keys_file"); !file.empty())
    check.passes("keys_file", KeySet::read(file));
  check.list("restricted_protocols", [](const auto& entries) { return Keys::parse(entries, {}); });
  check.list("restricted_apis", [](const auto& entries) { return Keys::parse({}, entries); });
}

}  // namespace

ATOLL_PLUGIN(KeysPlugin, {.name = "security/keys",
                          .version = "1.0.0",
                          .license = "Apache-2.0",
                          .help = "Lets only clients with a key make the calls that it is told.",
                          .provides = {provide<Access>().minor(1)},
                          .options = kOptions,
                          .check = &check_options});

}  // namespace atl::keys
