#include <algorithm>

#include "flag.h"
#include "values.h"

namespace atl::tritonserver {
namespace {

constexpr int64_t kSecondsADay = 86'400;

Status read_id(FlagUse& use) {
  use.options.keys.set("plugin.grpc.server_name", use.value);
  use.options.keys.set("plugin.http.server_name", use.value);
  return {};
}

Status read_exit_timeout(FlagUse& use) {
  auto seconds = parse_integer(use.value);
  if (!seconds.ok()) return std::move(seconds).status();
  if (*seconds > kSecondsADay)
    return invalid_argument("found ", *seconds, ", expected at most ", kSecondsADay);
  use.options.keys.set("atoll.drain_timeout", cat(std::max<int64_t>(*seconds, 0), "s"));
  return {};
}

Status read_log_verbose(FlagUse& use) {
  if (auto on = parse_bool(use.value); on.ok()) {
    use.options.log_verbose = *on ? 1 : 0;
    return {};
  }
  auto level = parse_integer(use.value);
  if (!level.ok()) return std::move(level).status();
  use.options.log_verbose = *level;
  return {};
}

Status read_log_info(FlagUse& use) {
  auto on = parse_bool(use.value);
  if (!on.ok()) return std::move(on).status();
  use.options.log_info = *on;
  return {};
}

Status read_log_warning(FlagUse& use) {
  auto on = parse_bool(use.value);
  if (!on.ok()) return std::move(on).status();
  use.options.log_warning = *on;
  return {};
}

Status read_log_error(FlagUse& use) {
  auto on = parse_bool(use.value);
  if (!on.ok()) return std::move(on).status();
  if (!*on) use.options.refuse("--log-error=false is not served: errors are always written");
  return {};
}

Status read_log_format(FlagUse& use) {
  constexpr std::string_view kFormats[] = {"default", "ISO8601"};
  if (std::ranges::find(kFormats, use.value) == std::end(kFormats)) {
    return not_one_of("invalid argument for --log-format", use.value, kFormats);
  }
  use.options.keys.set("log.format", "text");
  use.options.keys.set("log.time_format", use.value);
  return {};
}

Status read_repository(FlagUse& use) {
  auto& known = use.options.repositories;
  if (std::find(known.begin(), known.end(), use.value) == known.end()) known.emplace_back(use.value);
  return {};
}

Status read_exit_on_error(FlagUse& use) {
  auto on = parse_bool(use.value);
  if (!on.ok()) return std::move(on).status();
  use.options.exit_on_error = *on;
  if (*on) {
    use.options.refuse(
        "--exit-on-error=true is not served: a model that fails to load never ends the server; the others "
        "are served, and with --strict-readiness, the default, the server does not become ready. Leave the "
        "flag out");
  }
  return {};
}

Status read_follow_links(FlagUse& use) {
  auto on = parse_bool(use.value);
  if (!on.ok()) return std::move(on).status();
  use.options.follows_links = *on;
  return {};
}

Status read_open_early(FlagUse& use) {
  use.options.opens_early = true;
  return {};
}

Status read_no_auto_complete(FlagUse& use) {
  use.options.keys.set("plugin.models.auto_complete_config", false);
  return {};
}

Status read_strict_config(FlagUse& use) {
  auto strict = parse_bool(use.value);
  if (!strict.ok()) return std::move(strict).status();
  use.options.warn(
      "'--strict-model-config' has been deprecated! Please use '--disable-auto-complete-config' instead.");
  use.options.keys.set("plugin.models.auto_complete_config", !*strict);
  return {};
}

Status read_control_mode(FlagUse& use) {
  std::string mode = lower(use.value);
  constexpr std::string_view kModes[] = {"none", "poll", "explicit"};
  if (std::ranges::find(kModes, mode) == std::end(kModes)) {
    return not_one_of("invalid argument for --model-control-mode", use.value, kModes);
  }
  use.options.control_mode = mode;
  return {};
}

Status read_poll_seconds(FlagUse& use) {
  auto seconds = parse_integer(use.value);
  if (!seconds.ok()) return std::move(seconds).status();
  if (*seconds < 0 || *seconds > kSecondsADay) {
    return invalid_argument("found ", *seconds, ", expected 0 to ", kSecondsADay);
  }
  use.options.poll_seconds = *seconds;
  return {};
}

Status read_load_model(FlagUse& use) {
  use.options.load_models.emplace_back(use.value);
  return {};
}

Status read_config_name(FlagUse& use) {
  if (use.value.empty()) return invalid_argument("Error: empty argument for --model-config-name");
  use.options.keys.set("plugin.repository.config_name", use.value);
  return {};
}

Status read_namespacing(FlagUse& use) {
  auto on = parse_bool(use.value);
  if (!on.ok()) return std::move(on).status();
  use.options.namespacing = *on;
  return {};
}

Status read_load_threads(FlagUse& use) {
  constexpr int64_t kThreadsMax = 64;
  auto threads = parse_integer(use.value);
  if (!threads.ok()) return std::move(threads).status();
  if (*threads > kThreadsMax) return invalid_argument("found ", *threads, ", expected at most ", kThreadsMax);
  use.options.keys.set("atoll.worker_threads", std::max<int64_t>(*threads, 1));
  return {};
}

constexpr Flag kServerFlags[] = {
    {Group::kServer, "id", "<string>", "Name of the server in its metadata. Default: triton.",
     read_by(read_id, "plugin.grpc.server_name, plugin.http.server_name")},
    {Group::kServer, "exit-timeout-secs", "<integer>",
     "Seconds that a stop may take to finish what was accepted; less than 0 means 0. Default: 30.",
     read_by(read_exit_timeout, "atoll.drain_timeout")},

    {Group::kLogging, "log-verbose", "<integer>",
     "0 or false: no verbose records; 1 or true: those for debugging; 2 and more: tracing ones, too. "
     "Default: 0.",
     read_by(read_log_verbose, "log.level")},
    {Group::kLogging, "log-info", "<boolean>", "Whether informational records are written. Default: true.",
     read_by(read_log_info, "log.level")},
    {Group::kLogging, "log-warning", "<boolean>",
     "Whether warnings are written; without them no informational records can be. Default: true.",
     read_by(read_log_warning, "log.level")},
    {Group::kLogging, "log-error", "<boolean>", "Whether errors are written; they always are. Default: true.",
     read_by(read_log_error, "")},
    {Group::kLogging, "log-format", "<string>",
     "default or ISO8601: both give Atoll's lines, which begin with the time in ISO 8601, UTC; with ISO8601 "
     "in whole seconds. For JSON set ATOLL__LOG__FORMAT=json in the environment instead. Default: default.",
     read_by(read_log_format, "log.format, log.time_format")},
    {Group::kLogging, "log-file", "<string>",
     "File that records are appended to; one that cannot be opened is an error. Default: standard error.",
     sets("log.file", ValueType::kText)},

    {Group::kRepository, "model-repository", "<string>",
     "Directory of this machine with one directory for each model. May be given more than once; one of these "
     "two flags is required.",
     read_by(read_repository, "plugin.repository.paths")},
    {Group::kRepository, "model-store", "<string>", "The same as --model-repository.",
     read_by(read_repository, "plugin.repository.paths")},
    {Group::kRepository, "exit-on-error", "<boolean>",
     "Whether a model that fails to load at start ends the server. Only false is served, which is what Atoll "
     "does without this flag; with it a repository that is missing does not end the server either.",
     read_by(read_exit_on_error, "plugin.repository.allow_missing_paths")},
    {Group::kRepository, "follow-links", "<boolean>",
     "Whether links in a repository may lead out of it. Atoll's own flag. Default: true.",
     read_by(read_follow_links, "plugin.repository.follow_links")},
    {Group::kRepository, "open-early", "",
     "The ports are open while models are still loaded at start, so that their progress can be asked for; without it they are "
     "opened when each of these models has been loaded or has failed. Atoll's own flag.",
     read_by(read_open_early, "plugin.http.open_after_startup")},
    {Group::kRepository, "disable-auto-complete-config", "",
     "config.pbtxt must be there and complete; backends do not fill it in from the model's files.",
     read_by(read_no_auto_complete, "plugin.models.auto_complete_config")},
    {Group::kRepository, "strict-readiness", "<boolean>",
     "Whether the server is ready only while every model that was to be loaded is. Default: true.",
     sets("plugin.models.strict_readiness", ValueType::kBool)},
    {Group::kRepository, "model-control-mode", "<string>",
     "none: every model is loaded at start. poll: changes of the repositories are applied. explicit: clients "
     "load and unload models. Default: none.",
     read_by(read_control_mode, "plugin.control.use")},
    {Group::kRepository, "repository-poll-secs", "<integer>",
     "Seconds between two looks at the repositories, 0 to 86400; 0: one at start only. Counts only with "
     "--model-control-mode=poll. Default: 15.",
     read_by(read_poll_seconds, "plugin.control.interval")},
    {Group::kRepository, "load-model", "<string>",
     "Model to load at start, or * alone for all; needs --model-control-mode=explicit. May be given more "
     "than once.",
     read_by(read_load_model, "plugin.control.load_model")},
    {Group::kRepository, "model-config-name", "<string>",
     "configs/<name>.pbtxt in a model's directory is preferred to config.pbtxt where it is there.",
     read_by(read_config_name, "plugin.repository.config_name")},
    {Group::kRepository, "model-load-thread-count", "<integer>",
     "Threads for loading models and other long work, 1 to 64. Default: 4.",
     read_by(read_load_threads, "atoll.worker_threads")},
    {Group::kRepository, "model-load-retry-count", "<integer>",
     "How often loading a model is tried again after a failure, 0 to 100. Default: 0.",
     sets("plugin.models.load_retry_count", ValueType::kInteger, 0, 100)},
    {Group::kRepository, "model-namespacing", "<boolean>",
     "Whether models of one name may be in several repositories. Default: false; true for a multi-model endpoint of SageMaker.",
     read_by(read_namespacing, "plugin.models.namespacing, plugin.repository.namespacing")},
    {Group::kRepository, "enable-peer-access", "<boolean>",
     "Whether GPUs may read each other's memory. Default: true.",
     has_no_effect(ValueType::kBool, "no tensors are copied between GPUs")},

    {Group::kDeprecated, "strict-model-config", "<boolean>",
     "true: as --disable-auto-complete-config. Default: false.",
     read_by(read_strict_config, "plugin.models.auto_complete_config")},
};

}  // namespace

std::span<const Flag> server_flags() { return kServerFlags; }

}  // namespace atl::tritonserver
