/// repositories/filesystem: model repositories that are directories of this machine.
#include "atoll/core/plugin.h"

#include <utility>
#include <vector>

#include "atoll/core/options_follower.h"
#include "repositories/common/following_repository.h"

namespace atl::filesystem {
namespace {

RepositorySettings settings_from(const Options& options) {
  return {.paths = options.get_strings("paths"),
          .allow_missing_paths = options.get_bool("allow_missing_paths"),
          .missing_paths_fail_health = options.get_bool("missing_paths_fail_health"),
          .follow_links = options.get_bool("follow_links"),
          .linked_paths = options.get_strings("linked_paths"),
          .namespacing = options.get_bool("namespacing"),
          .config_name = options.get_string("config_name"),
          .files_max = static_cast<uint64_t>(options.get_int("files_max")),
          .files_directory = options.get_string("files_directory")};
}

void check_options(OptionCheck& check) {
  const RepositorySettings settings = settings_from(check.options());
  check.passes("config_name", check_config_name(settings.config_name));
  check.list("paths", [&](const std::vector<std::string>& paths) {
    RepositorySettings some = settings;
    some.paths = paths;
    some.config_name.clear();
    std::vector<Status> missing;
    return FilesystemRepository(some).check(&missing);
  });
}

class FilesystemPlugin final : public Plugin, public OptionsFollower {
 public:
  explicit FilesystemPlugin(Host& host)
      : host_(host), options_(read_options(host.options())), repository_(options_) {}

  Status start() override {
    std::vector<Status> missing;
    ATOLL_RETURN_IF_ERROR(repository_.check(&missing));
    log_missing(missing);
    return {};
  }
  Repository& repository() noexcept { return repository_; }
  RepositoryPaths& paths() noexcept { return repository_; }

  bool can_follow(const Options& next) noexcept override {
    RepositorySettings settings = read_options(next);
    // Models have other names then.
    if (settings.namespacing != options_.namespacing) return false;
    std::vector<Status> missing;
    return FilesystemRepository(std::move(settings)).check(&missing).ok();
  }
  void follow(const Options& next) noexcept override {
    options_ = read_options(next);
    repository_.follow(options_);
    std::vector<Status> missing;
    if (Status status = repository_.check(&missing); !status.ok()) host_.log().error(status.text());
    log_missing(missing);
  }

 private:
  RepositorySettings read_options(const Options& options) const {
    RepositorySettings settings = settings_from(options);
    settings.linked_paths_option = cat("plugin.", host_.instance_name(), ".linked_paths");
    settings.log = &host_.log();
    settings.clock = &host_.clock();
    return settings;
  }
  void log_missing(const std::vector<Status>& missing) {
    const std::string_view health =
        repository_.is_complete() ? "" : ", and until then the server is neither live nor ready";
    for (const Status& failure : missing) {
      host_.log().warning(failure.text(), "; the repository is left out until it can be listed", health);
    }
  }

  Host& host_;
  RepositorySettings options_;
  FollowingRepository repository_;
};

constexpr OptionTable kOptions{
    option_string_list("paths").required().help(
        "Directories that hold one directory for each model; at least one."),
    option_bool("allow_missing_paths", false)
        .help("Whether the server starts while some or all of the paths cannot be listed: they are left "
              "out, with a warning, until they can."),
    option_bool("missing_paths_fail_health", false)
        .help(
            "Whether the server is neither live nor ready as long as a path that may be missing has never been there, "
            "as Triton with --exit-on-error=false."),
    option_bool("follow_links", false).help("Whether links in a repository may lead out of it."),
    option_string_list("linked_paths")
        .help("Directories that links in a repository may lead into, while they may not lead elsewhere."),
    option_bool("namespacing", false)
        .help("Whether the same name in several repositories means several models; to be set in the "
              "catalog's plugin, too."),
    option_string("config_name", "")
        .help("Prefer configs/<config_name>.pbtxt in a model directory to config.pbtxt; empty: never."),
    option_int("files_max", 1000000)
        .range(1, 100000000)
        .help("Most files and directories that one model directory may hold."),
    option_string("files_directory", "")
        .help("Where the files that clients send with a load are kept while the model is loaded; empty: the "
              "system's temporary directory."),
};

}  // namespace

ATOLL_PLUGIN(FilesystemPlugin, {.name = "repositories/filesystem",
                                .version = "1.0.0",
                                .license = "Apache-2.0",
                                .help = "Finds models in directories of this machine.",
                                .provides = {provide<Repository, &FilesystemPlugin::repository>().minor(4),
                                             provide<RepositoryPaths, &FilesystemPlugin::paths>().minor(1),
                                             provide<OptionsFollower>()},
                                .options = kOptions,
                                .check = &check_options});

}  // namespace atl::filesystem
