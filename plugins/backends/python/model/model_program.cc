#include "backends/python/model/model_program.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "backends/python/process/closed_folder.h"
#include "backends/python/process/system_user.h"
#include "backends/python/process/worker_environment.h"

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

/// Words that begin with a program of util-linux.
Status prepend(std::string_view program, std::vector<std::string> words, ProcessSpec& process) {
  const std::string path = variable(process.environment, "PATH");
  Result<std::string> found = find_program(std::string(program), path + ":/usr/sbin:/usr/bin:/sbin:/bin");
  if (!found.ok()) return std::move(found).status().note("run_as_user");
  words.insert(words.begin(), std::move(found).value());
  process.words.insert(process.words.begin(), words.begin(), words.end());
  return {};
}

/// By setpriv, which also sees to it that nothing that is executed gets more than the user has. The limits are set
/// before: another user's process may only be limited with CAP_SYS_RESOURCE, which root does not have in a container.
Status run_as(const std::string& name, ProcessSpec& process) {
  if (name.empty()) return {};
  Result<SystemUser> user = SystemUser::find(name);
  if (!user.ok()) return std::move(user).status().note("run_as_user");
  ATOLL_RETURN_IF_ERROR(
      prepend("setpriv",
              {"--reuid", cat(user->id), "--regid", cat(user->group),
               user->name.empty() ? "--clear-groups" : "--init-groups", "--no-new-privs", "--"},
              process));
  std::vector<std::string> limits = {"--core=0:0"};
  const auto limit = [&](std::string_view option, uint64_t most, bool by_group) {
    if (most != 0 && !by_group) limits.push_back(cat("--", option, "=", most, ":", most));
  };
  limit("as", process.limits.memory_bytes, process.limits.groups.memory);
  limit("nofile", process.limits.open_files, false);
  limit("nproc", process.limits.processes, process.limits.groups.processes);
  limits.emplace_back("--");
  ATOLL_RETURN_IF_ERROR(prepend("prlimit", std::move(limits), process));
  process.user = name;
  set_variable(process.environment, "HOME", user->home);
  set_variable(process.environment, "USER", user->name);
  return {};
}

/// Libraries make as many threads as they see CPUs when they are imported, which is while the worker has one less: a library that is
/// loaded first tells them what it will have. \returns nothing where LD_PRELOAD cannot name it, or it is not there
std::string cpus_library_in(const std::string& python_folder) {
  std::string library = python_folder + "/libatoll_worker_cpus.so";
  const bool can_be_named = library.find_first_of(": ") == std::string::npos;
  return can_be_named && is_file(library) ? library : std::string();
}

void take_all_cpus_when_ready(const std::string& library, ProcessSpec& process) {
  process.words.emplace_back(kAllCpusWhenReady);
  if (library.empty()) return;
  const std::string others = variable(process.environment, "LD_PRELOAD");
  set_variable(process.environment, "LD_PRELOAD", others.empty() ? library : cat(library, ":", others));
}

/// How the worker imports what it runs. A backend's program sees nothing but its own folder: models are its data.
Result<nlohmann::json> module_of(const std::optional<BackendScript>& script, const std::string& python_folder,
                                 const ModelSource& source) {
  if (script) {
    return nlohmann::json{
        {"module_path", script->file}, {"module_name", "model"}, {"paths", {script->folder, python_folder}}};
  }
  const std::string& named = source.model.default_model_filename;
  const std::string file = cat(source.version_directory, "/", named.empty() ? "model.py" : named);
  if (!is_file(file)) return not_found("Python model file not found in '", file, "'");
  return nlohmann::json{{"module_path", file},
                        {"module_name", cat(source.version, ".", fs::path(file).stem().string())},
                        {"paths", {source.version_directory, source.model_directory, python_folder}}};
}

}  // namespace

Result<ModelProgram> ModelProgram::find(ModelSettings settings, const std::optional<BackendScript>& script,
                                        const std::string& python_folder, PackedEnvironments& packed,
                                        const ModelSource& source) {
  Result<nlohmann::json> module = module_of(script, python_folder, source);
  if (!module.ok()) return std::move(module).status();
  if (script && settings.environment_path.empty()) settings.environment_path = script->environment;
  if (PackedEnvironments::is_packed(settings.environment_path)) {
    Result<std::string> folder = packed.unpack(settings.environment_path);
    if (!folder.ok()) return std::move(folder).status().note(cat("model '", source.name, "'"));
    settings.environment_path = std::move(folder).value();
  }
  ModelProgram program;
  program.process.environment = worker_environment(environ, settings.environment);
  Result<std::string> interpreter =
      settings.environment_path.empty()
          ? find_program(settings.interpreter, variable(program.process.environment, "PATH"))
          : use_environment(settings, program.process.environment);
  if (!interpreter.ok()) return std::move(interpreter).status().note(cat("model '", source.name, "'"));
  program.process.words = {*interpreter, "-u", python_folder + "/atoll_worker", cat(kControlDescriptor)};
  program.process.limits = settings.limits;
  program.cpus_library = cpus_library_in(python_folder);
  program.run_files = {*interpreter, python_folder + "/atoll_worker/__main__.py", (*module)["module_path"]};
  ATOLL_RETURN_IF_ERROR(run_as(settings.user, program.process));
  program.message = std::move(module).value();
  program.is_backends = script.has_value();
  program.message["model_directory"] = source.version_directory;
  program.message["model_name"] = source.name;
  program.settings = std::move(settings);
  return program;
}

Status ModelProgram::explained(Status failure) const {
  if (failure.ok() || process.user.empty()) return failure;
  Result<SystemUser> user = SystemUser::find(process.user);
  if (!user.ok()) return failure;
  const std::vector<gid_t> groups = user->groups();
  for (const std::string& file : run_files) {
    const std::string folder = folder_closed_to(user->id, groups, file);
    if (folder.empty()) continue;
    return make_status(failure.code(), failure.message(), "; user '", process.user,
                       "' may not enter folder '", folder, "', which is on the way to '", file, "'");
  }
  return failure;
}

WorkerSpec ModelProgram::worker(const std::string& name, std::span<const uint32_t> cores) const {
  WorkerSpec spec;
  spec.name = name;
  spec.process = process;
  spec.process.words.push_back(cat("--name=", name));
  std::vector<uint32_t>& its_cores = spec.process.limits.cpu_cores;
  if (!cores.empty()) its_cores.assign(cores.begin(), cores.end());
  if (its_cores.empty()) take_all_cpus_when_ready(cpus_library, spec.process);
  spec.first_slab_bytes = settings.first_slab_bytes;
  if (settings.shared_memory_bytes != 0) spec.shared_bytes = settings.shared_memory_bytes;
  return spec;
}

}  // namespace atl::python
