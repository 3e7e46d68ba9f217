/// security/model_keys: the files of encrypted models.
#include "atoll/core/plugin.h"

#include <cstdlib>
#include <optional>
#include <utility>

#include "security/model_keys/key_source.h"
#include "security/model_keys/model_decryptor.h"

namespace atl::model_keys {
namespace {

const char* credentials_folder() noexcept { return std::getenv("CREDENTIALS_DIRECTORY"); }

class ModelKeysPlugin final : public Plugin {
 public:
  explicit ModelKeysPlugin(Host& host) : host_(host) {}

  Status init() override {
    const Options& options = host_.options();
    Result<KeyPlace> place = KeyPlace::of(options, credentials_folder());
    if (!place.ok()) return std::move(place).status();
    const bool lock = options.get_bool("lock_memory");
    source_.emplace(host_, std::move(place).value(), lock, options.get_duration_ns("poll_interval"));
    decryptor_.emplace(*source_, lock, host_.log());
    return {};
  }
  Status start() override { return source_->start(); }
  void stop() override {
    decryptor_.reset();
    source_.reset();
  }
  ModelFiles& model_files() noexcept { return *decryptor_; }

 private:
  Host& host_;
  std::optional<KeySource> source_;
  std::optional<ModelDecryptor> decryptor_;
};

constexpr OptionTable kOptions{
    option_string("keys_file", "").help("File of keys, lines 'ID:KEY' with 64 hexadecimal digits as KEY."),
    option_string("keys_credential", "")
        .help("Name of a credential of systemd (LoadCredential=NAME:PATH of the unit) that is such a file."),
    option_int("keys_descriptor", -1)
        .range(-1, 1'048'575)
        .help(
            "Number of a file descriptor, inherited from the server's parent, of such a file or of a pipe; -1: none."),
    option_bool("lock_memory", true)
        .help(
            "Keys and plain bytes are locked in memory, so that they are never in swap space. Models then need a limit "
            "(RLIMIT_MEMLOCK) above the size of their files."),
    option_duration("poll_interval", "1s")
        .range("0s", "86400s")
        .help("Time between two looks whether the file has changed; 0: only SIGHUP has it read again."),
};

void check_options(OptionCheck& check) {
  const Result<KeyPlace> place = KeyPlace::of(check.options(), credentials_folder());
  if (!check.passes("", place)) return;
  // What a descriptor gives can be read only once if it is a pipe.
  if (const std::string& file = place.value().file; !file.empty())
    check.passes(check.options().get_string("keys_file").empty() ? "keys_credential" : "keys_file",
                 EncryptionKeys::read(file, false));
}

}  // namespace

ATOLL_PLUGIN(ModelKeysPlugin, {.name = "security/model_keys",
                               .version = "1.0.0",
                               .license = "Apache-2.0",
                               .help = "Decrypts the files of encrypted models in memory.",
                               .provides = {provide<ModelFiles, &ModelKeysPlugin::model_files>()},
                               .options = kOptions,
                               .check = &check_options});

}  // namespace atl::model_keys
