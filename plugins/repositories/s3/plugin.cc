/// repositories/s3: model repositories in object stores, and folders of this machine beside them.
#include "atoll/core/plugin.h"

#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "repositories/s3/option_table.h"
#include "repositories/s3/store_repository.h"

namespace atl::s3 {
namespace {

const char* environment_variable(const char* name) { return std::getenv(name); }

class S3Plugin final : public Plugin {
 public:
  explicit S3Plugin(Host& host) : host_(host) {}

  Status init() override {
    Result<StoreRepositorySettings> settings = settings_of(host_.options(), &environment_variable);
    if (!settings.ok()) return std::move(settings).status();
    settings->folders.linked_paths_option = cat("plugin.", host_.instance_name(), ".linked_paths");
    settings->folders.log = &host_.log();
    settings->folders.clock = &host_.clock();
    repository_.emplace(std::move(settings).value(), host_.clock(), host_.log());
    return {};
  }
  Status start() override {
    std::vector<Status> missing;
    ATOLL_RETURN_IF_ERROR(repository_->start(host_.executors(), &missing));
    for (const Status& failure : missing) {
      host_.log().warning(failure.text(), "; the repository is left out until it can be listed");
    }
    return {};
  }
  void drain(int64_t /*deadline_ns*/) override { repository_->interrupt(); }
  void stop() override { repository_->stop(); }
  Repository& repository() noexcept { return *repository_; }

 private:
  Host& host_;
  std::optional<StoreRepository> repository_;
};

void check_options(OptionCheck& check) {
  const std::string& config_name = check.options().get_string("config_name");
  check.passes("config_name", filesystem::check_config_name(config_name));
  check.list("paths", &check_paths);
  check.whole(settings_of(check.options(), &environment_variable));
}

}  // namespace

ATOLL_PLUGIN(S3Plugin, {.name = "repositories/s3",
                        .version = "1.0.0",
                        .license = "Apache-2.0",
                        .help = "Finds models in object stores, and keeps copies of them on this machine.",
                        .provides = {provide<Repository, &S3Plugin::repository>().minor(4)},
                        .options = kS3Options,
                        .check = &check_options});

}  // namespace atl::s3
