#include "backends/python/model_program.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "backends/python/worker_environment.h"

namespace atl::python {
namespace {

namespace fs = std::filesystem;

bool is_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// What activating an environment comes to: its programs and libraries first.
Result<std::string> use_environment(const ModelSettings& settings, std::vector<std::string>& environment) {
  const std::string& folder = settings.environment_path;
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    return not_found("EXECUTION_ENV_PATH '", folder, "' is no folder of a Python environment");
  }
  const auto before = [&](std::string_view first, const char* name) {
    const std::string rest = variable(environment, name);
    set_variable(environment, name, rest.empty() ? std::string(first) : cat(first, ":", rest));
  };
  before(cat(folder, "/bin"), "PATH");
  before(cat(folder, "/lib"), "LD_LIBRARY_PATH");
  set_variable(environment, "VIRTUAL_ENV", folder);
  set_variable(environment, "PYTHONHOME", "");
  for (const char* name : {"/bin/python3", "/bin/python"}) {
    if (is_file(folder + name)) return folder + name;
  }
  return not_found("EXECUTION_ENV_PATH '", folder, "' has no bin/python3");
}

/// By setpriv of util-linux, which also sees to it that nothing that is executed gets more than the user has.
Status run_as(const std::string& user, const std::string& path, std::vector<std::string>& words) {
  if (user.empty()) return {};
  Result<std::string> program = find_program("setpriv", path + ":/usr/sbin:/usr/bin:/sbin:/bin");
  if (!program.ok()) return std::move(program).status().note("run_as_user");
  words.insert(words.begin(),
               {*program, "--reuid", user, "--regid", user, "--init-groups", "--no-new-privs", "--"});
  return {};
}

}  // namespace

Result<ModelProgram> ModelProgram::find(const PythonSettings& options, const std::string& python_folder,
                                        PackedEnvironments& packed, const ModelSource& source) {
  Result<ModelSettings> settings = model_settings(options, source);
  if (!settings.ok()) return std::move(settings).status();
  const std::string& named = source.model.default_model_filename;
  const std::string file = cat(source.version_directory, "/", named.empty() ? "model.py" : named);
  if (!is_file(file)) return not_found("Python model file not found in '", file, "'");
  if (PackedEnvironments::is_packed(settings->environment_path)) {
    Result<std::string> folder = packed.unpack(settings->environment_path);
    if (!folder.ok()) return std::move(folder).status().note(cat("model '", source.name, "'"));
    settings->environment_path = std::move(folder).value();
  }
  ModelProgram program;
  program.process.environment = worker_environment(environ, settings->environment);
  Result<std::string> interpreter =
      settings->environment_path.empty()
          ? find_program(settings->interpreter, variable(program.process.environment, "PATH"))
          : use_environment(*settings, program.process.environment);
  if (!interpreter.ok()) return std::move(interpreter).status().note(cat("model '", source.name, "'"));
  program.process.words = {*interpreter, "-u", python_folder + "/atoll_worker", cat(kControlDescriptor)};
  program.process.limits = settings->limits;
  ATOLL_RETURN_IF_ERROR(
      run_as(settings->user, variable(program.process.environment, "PATH"), program.process.words));
  program.message = {{"module_path", file},
                     {"module_name", cat(source.version, ".", fs::path(file).stem().string())},
                     {"paths", {source.version_directory, source.model_directory, python_folder}},
                     {"model_directory", source.version_directory},
                     {"model_name", source.name}};
  program.settings = std::move(settings).value();
  return program;
}

WorkerSpec ModelProgram::worker(const std::string& name) const {
  WorkerSpec spec;
  spec.name = name;
  spec.process = process;
  spec.first_slab_bytes = settings.first_slab_bytes;
  if (settings.shared_memory_bytes != 0) spec.shared_bytes = settings.shared_memory_bytes;
  return spec;
}

}  // namespace atl::python
