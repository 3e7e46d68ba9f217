/// security/keys: calls that need a key.
#include "atoll/core/plugin.h"

#include <utility>

#include "security/keys/keys.h"

namespace atl::keys {
namespace {

class KeysPlugin final : public Plugin {
 public:
  explicit KeysPlugin(Host& host) : host_(host) {}

  Status init() override {
    const Options& options = host_.options();
    Result<Keys> keys =
        Keys::parse(options.get_strings("restricted_protocols"), options.get_strings("restricted_apis"));
    if (!keys.ok()) return std::move(keys).status();
    keys_ = std::move(keys).value();
    return {};
  }
  Access& access() noexcept { return keys_; }

 private:
  Host& host_;
  Keys keys_;
};

constexpr OptionTable kOptions{
    option_string_list("restricted_protocols")
        .help(
            "gRPC calls that need a key, as 'category,category:key=value': metadata 'triton-grpc-protocol-<key>' must be the value. Categories: health, metadata, inference, shared-memory, model-config, model-repository, statistics, trace, logging, and those of plugins that add calls, whose names have a dot."),
    option_string_list("restricted_apis")
        .help(
            "HTTP calls that need a key, as 'category,category:key=value': the header '<key>' must be the value. Categories: the same, and metrics (the page)."),
};

void check_options(OptionCheck& check) {
  check.list("restricted_protocols", [](const auto& entries) { return Keys::parse(entries, {}); });
  check.list("restricted_apis", [](const auto& entries) { return Keys::parse({}, entries); });
}

}  // namespace

ATOLL_PLUGIN(KeysPlugin, {.name = "security/keys",
                          .version = "1.0.0",
                          .license = "Apache-2.0",
                          .help = "Lets only clients with a key make the calls that it is told.",
                          .provides = {provide<Access, &KeysPlugin::access>()},
                          .options = kOptions,
                          .check = &check_options});

}  // namespace atl::keys
