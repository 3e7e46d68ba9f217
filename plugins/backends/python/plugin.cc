/// backends/python: models that are Python programs.
#include "atoll/core/plugin.h"

#include <dlfcn.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/file_check.h"
#include "backends/python/option_table.h"
#include "backends/python/process/system_user.h"
#include "backends/python/python_backend.h"

namespace atl::python {
namespace {

/// What workers run lies beside the plugins' folder, wherever that is: lib/atoll/python of lib/atoll/plugins/backends/python.so.
std::string python_folder() {
  Dl_info info = {};
  if (::dladdr(reinterpret_cast<const void*>(&python_folder), &info) == 0) return {};
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(info.dli_fname, error);
  return (file.parent_path().parent_path().parent_path() / "python").string();
}

class PythonPlugin final : public Plugin, public MetricSource {
 public:
  explicit PythonPlugin(Host& host) : host_(host) {}
  Status init() override {
    Result<PythonSettings> settings = PythonSettings::read(host_.options());
    if (!settings.ok()) return std::move(settings).status();
    backend_.emplace(host_, std::move(settings).value(), python_folder());
    return {};
  }
  Status start() override { return backend_->start(); }
  void collect(MetricSink& sink) const noexcept override { backend_->collect(sink); }
  void stop() override { backend_->stop(); }
  Backend& backend() noexcept { return *backend_; }

 private:
  Host& host_;
  std::optional<PythonBackend> backend_;
};

Status check_variables(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const size_t star = name.find('*');
    if (name.empty() || name.find('=') != std::string::npos || star < name.size() - 1)
      return invalid_argument("has '", name,
                              "', expected the name of a variable, whose value is the server's own, or the "
                              "begin of names with '*' behind it");
  }
  return {};
}

void check_options(OptionCheck& check) {
  // A name may be found in the PATH of another moment.
  const std::string& interpreter = check.options().get_string("interpreter");
  if (interpreter.find('/') != std::string::npos) check.passes("interpreter", check_program(interpreter));
  const std::string& user = check.options().get_string("run_as_user");
  if (!user.empty()) check.passes("run_as_user", SystemUser::find(user));
  check.list("environment", check_variables);
  check.whole(PythonSettings::read(check.options()));
}

}  // namespace

ATOLL_PLUGIN(
    PythonPlugin,
    {.name = "backends/python",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help = "Runs models that are Python programs in processes of their own.",
     // The catalog may still be returning from what it was given to call when a model was saved.
     .flags = ATOLL_PLUGIN_RESIDENT,
     // Before backends made for Triton, which run backends that are Python programs by Triton's own.
     .provides = {provide<Backend, &PythonPlugin::backend>().minor(Backend::kUnreadyReasonMinor).rank(1),
                  provide<MetricSource>()},
     .needs = {optional<ModelCatalog>(), optional<ModelControl>(), many<Memory>()},
     .options = kPythonOptions,
     .check = &check_options});

}  // namespace atl::python
