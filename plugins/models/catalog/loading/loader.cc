#include "models/catalog/loading/loader.h"

#include <future>
#include <utility>

#include "atoll/memory.h"
#include "atoll/model_identifier.h"
#include "atoll/proto/model_description.h"
#include "model_config.pb.h"
#include "models/catalog/loading/inherited_labels.h"
#include "models/catalog/loading/model_info.h"
#include "models/catalog/loading/parallel_for.h"
#include "models/catalog/loading/warmup.h"
#include "models/catalog/serving/instance_specs.h"
#include "models/catalog/serving/scheduler_choice.h"

namespace atl::models {
namespace {

constexpr int32_t kGpusMax = 64;
constexpr std::string_view kDefaultMaxBatchSize = "default-max-batch-size";

std::vector<EnsembleMember> members_of(const inference::ModelConfig& config) {
  std::vector<EnsembleMember> members;
  for (const auto& step : config.ensemble_scheduling().step()) {
    members.push_back(
        {step.model_name(), step.model_version() > 0 ? step.model_version() : ModelCatalog::kLatest});
  }
  return members;
}

/// The reference text first, then what there is.
Status no_backend(Registry& registry, const inference::ModelConfig& config, const Status& cause) {
  if (cause.code() != Code::kNotFound) return cause.clone();
  std::string found;
  for (const ServiceInfo& info : registry.list(Backend::kInterfaceId)) {
    found += cat(found.empty() ? "" : ", ", "'", info.instance, "'");
  }
  return invalid_argument("unable to find backend library for backend '", config.backend(),
                          "', try specifying runtime on the model configuration. Enabled backends: ",
                          found.empty() ? std::string_view("none") : std::string_view(found));
}

/// A failure that names the model where it would name a private directory, which is nobody's business.
Status without_path(const Status& failure, const std::string& path, const std::string& model) {
  std::string text = failure.text();
  for (size_t at = text.find(path); at != std::string::npos; at = text.find(path, at + model.size())) {
    text.replace(at, path.size(), model);
  }
  return Status(failure.code(), std::move(text));
}

}  // namespace

std::map<std::string, std::string> settings_of(const LoaderOptions& options, std::string_view backend) {
  std::map<std::string, std::string> settings;
  settings.emplace(kDefaultMaxBatchSize, cat(options.default_max_batch_size));
  for (const auto& [key, value] : options.settings) {
    if (key.find('.') == std::string::npos) settings[key] = value;
  }
  for (const auto& [key, value] : options.settings) {
    size_t dot = key.find('.');
    if (dot != std::string::npos && std::string_view(key).substr(0, dot) == backend) {
      settings[key.substr(dot + 1)] = value;
    }
  }
  return settings;
}

Loader::Loader(Host& host, Repository& repository, ModelConfigs& configs, ServingContext& serving,
               ServingTable& table, LoaderOptions options)
    : host_(host),
      repository_(repository),
      configs_(configs),
      serving_(serving),
      table_(table),
      options_(std::move(options)) {}

Status Loader::read_files(const std::string& model, LoadOrder& order, const PreparedModel* loaded,
                          PreparedModel& prepared, PrepareProgress* progress) {
  // What is rebuilt for a reason of the server's own stays what the client made it.
  bool as_loaded = loaded != nullptr && order.from_repository() && !order.requested;
  if (as_loaded && loaded->directory != nullptr) {
    prepared.files = loaded->files;
    prepared.directory = loaded->directory;
    prepared.config_override = loaded->config_override;
    return {};
  }
  prepared.config_override = std::move(order.config);
  if (!order.files.empty()) {
    if (!prepared.config_override) {
      return invalid_argument("Load parameter 'config' must be specified for model file override");
    }
    Result<PrivateModel> made =
        repository_.open_files(options_.namespacing ? model_name_of(model) : model, order.files);
    order.files = {};
    if (!made.ok()) return std::move(made).status();
    prepared.files = std::move(made->model);
    prepared.directory = std::move(made->directory);
    return {};
  }
  // Before the files are read, so that what changes meanwhile is a change to the next load.
  if (auto stamps = repository_.stamps(model); stamps.ok()) prepared.stamps = std::move(stamps).value();
  Result<RepositoryModel> files = repository_.open(model);
  progress->exists = files.ok() || files.status().code() != Code::kNotFound;
  if (!files.ok()) return std::move(files).status();
  prepared.files = std::move(files).value();
  bool unchanged = loaded != nullptr && !prepared.stamps.empty() && loaded->stamps == prepared.stamps;
  bool keeps_override = unchanged || (as_loaded && order.rebuild);
  if (!prepared.config_override && loaded != nullptr && keeps_override) {
    prepared.config_override = loaded->config_override;
  }
  return {};
}

Result<PreparedModel> Loader::prepare(const std::string& model, LoadOrder& order, const PreparedModel* loaded,
                                      PrepareProgress* progress) {
  PreparedModel prepared;
  ATOLL_RETURN_IF_ERROR(read_files(model, order, loaded, prepared, progress));
  for (const std::string& warning : prepared.files.ignored) host_.log().warning(warning);
  bool strict = !options_.auto_complete;
  Result<std::string> bytes = prepared.config_override
                                  ? configs_.read_json(prepared.files, *prepared.config_override, strict)
                                  : configs_.read(prepared.files, strict);
  if (!bytes.ok()) return std::move(bytes).status();
  prepared.config = std::move(bytes).value();
  inference::ModelConfig config;
  ATOLL_RETURN_IF_ERROR(parse_config(prepared.config, &config));
  prepared.ensemble = config.has_ensemble_scheduling();
  prepared.members = members_of(config);
  if (options_.namespacing && prepared.ensemble) {
    ATOLL_RETURN_IF_ERROR(find_members(model, config, prepared));
  }
  progress->was_read = true;

  std::vector<std::string> warnings;
  auto versions = configs_.select_versions(prepared.config, prepared.files, &warnings);
  for (const std::string& warning : warnings) host_.log().warning(warning);
  if (!versions.ok()) return std::move(versions).status();
  prepared.versions = std::move(versions).value();
  if (prepared.versions.empty()) {
    return invalid_argument("at least one version must be available under the version policy of model '",
                            model, "'");
  }
  return prepared;
}

/// Members by identifier: of the ensemble's own repository, else the only one of that name. One that is in
/// none, or in several, stays a name, which no model has then.
Status Loader::find_members(const std::string& ensemble, inference::ModelConfig& config,
                            PreparedModel& prepared) {
  Result<std::vector<RepositoryEntry>> entries = repository_.list();
  if (!entries.ok()) return std::move(entries).status();
  for (size_t i = 0; i < prepared.members.size(); ++i) {
    std::string& member = prepared.members[i].model;
    auto* step = config.mutable_ensemble_scheduling()->mutable_step(static_cast<int>(i));
    step->clear_model_namespace();
    std::string found;
    for (const RepositoryEntry& entry : entries.value()) {
      if (model_name_of(entry.name) != member) continue;
      const bool first = found.empty();
      const bool own = model_namespace_of(entry.name) == model_namespace_of(ensemble);
      found = first || own ? entry.name : std::string(member);
      if (own) break;
    }
    if (!is_model_identifier(found)) continue;
    member = found;
    step->set_model_namespace(std::string(model_namespace_of(found)));
  }
  prepared.config = config.SerializeAsString();
  return {};
}

Result<std::unique_ptr<ServedModel>> Loader::build(const std::shared_ptr<const PreparedModel>& model,
                                                   const RepositoryVersion& version,
                                                   MissingService* missing) {
  const RepositoryEntry& entry = model->files.entry;
  for (uint32_t attempt = 0;; ++attempt) {
    *missing = {};
    auto built = build_once(model, version, missing);
    if (built.ok()) return built;
    if (attempt == options_.retries) {
      if (model->directory == nullptr) return built;
      return without_path(built.status(), entry.path, entry.name);
    }
    host_.log().warning("attempt ", attempt + 1, " of ", options_.retries + 1, " to load '", entry.name,
                        "' version ", version.version, " failed: ", built.status().text());
  }
}

Status Loader::admit(const inference::ModelConfig& config, int64_t version, ModelParts& parts,
                     MissingService* missing) {
  auto admission = VersionAdmission::create(host_.registry(), config, version);
  if (!admission.ok()) {
    // Another one, or this one with other options, may grant it.
    *missing = {ExecutionAdmission::kInterfaceId, {}};
    return std::move(admission).status();
  }
  parts.admission = std::move(admission).value();
  return {};
}

Result<std::unique_ptr<ServedModel>> Loader::build_once(const std::shared_ptr<const PreparedModel>& source,
                                                        const RepositoryVersion& version,
                                                        MissingService* missing) {
  const PreparedModel& model = *source;
  const int64_t begun_ns = host_.clock().now_ns();
  ModelParts parts;
  parts.pass = Pass(host_.gate());
  if (!parts.pass) return unavailable("the server is going down");
  parts.source = source;
  inference::ModelConfig config;
  std::string bytes = model.config;
  ATOLL_RETURN_IF_ERROR(parse_config(bytes, &config));
  if (model.ensemble) {
    Result<std::string> finished = configs_.finish(bytes);
    if (!finished.ok()) return std::move(finished).status();
    bytes = std::move(finished).value();
    ATOLL_RETURN_IF_ERROR(parse_config(bytes, &config));
  } else {
    ATOLL_RETURN_IF_ERROR(load_backend(model, version, parts, config, bytes, missing));
  }
  Result<ModelInfo> info = make_model_info(config, std::move(bytes), version.version, model.files.entry.path);
  if (!info.ok()) return std::move(info).status();
  if (model.ensemble) {
    const auto find = [this](const EnsembleMember& member) {
      return table_.acquire(member.model, member.version);
    };
    inherit_labels(config, model.members, find, &info.value());
  }
  parts.info = std::make_unique<const ModelInfo>(std::move(info).value());
  parts.statistics = std::make_shared<StatisticsRecorder>(host_.clock(), parts.info->max_batch_size);
  if (!model.ensemble) {
    // Before the instances, which may take long to make: it may not be possible to execute on them.
    ATOLL_RETURN_IF_ERROR(admit(config, version.version, parts, missing));
    warn_of_unknown_policies(config);
    auto specs = make_instance_specs(config, options_.host_policies, parts.statistics.get());
    if (!specs.ok()) return std::move(specs).status();
    for (auto& spec : *specs) parts.specs.push_back(std::move(spec));
    ATOLL_RETURN_IF_ERROR(create_instances(model, parts));
  }
  ATOLL_RETURN_IF_ERROR(create_scheduler(model, config, parts, missing));
  auto served = std::make_unique<ServedModel>(serving_, std::move(parts), find_correlation_control(config));
  ATOLL_RETURN_IF_ERROR(run_warmup(config, model.files.entry.path, *served, served->parts().scheduled));
  served->parts().statistics->reset();  // what warm-up counted
  served->set_load_duration_ns(static_cast<uint64_t>(host_.clock().now_ns() - begun_ns));
  return served;
}

Status Loader::load_backend(const PreparedModel& model, const RepositoryVersion& version, ModelParts& parts,
                            inference::ModelConfig& config, std::string& bytes, MissingService* missing) {
  auto backend = host_.registry().find<Backend>(config.backend().empty() ? "(none)" : config.backend());
  if (!backend.ok()) {
    *missing = {Backend::kInterfaceId, config.backend()};
    return no_backend(host_.registry(), config, backend.status());
  }
  parts.backend = std::make_shared<Service<Backend>>(std::move(backend).value());
  parts.backend_instance = config.backend();

  ModelSource source;
  source.name = model.files.entry.name;
  source.version = version.version;
  source.model_directory = model.files.entry.path;
  source.version_directory = version.path;
  source.config = bytes;
  source.model = proto::describe_model(config);
  source.auto_complete = options_.auto_complete;
  source.settings = settings_of(options_, config.backend());
  if (options_.auto_complete) {
    Result<std::string> completed = (*parts.backend)->complete_config(source);
    if (!completed.ok()) return std::move(completed).status();
    source.config = std::move(completed).value();
  }
  Result<std::string> finished = configs_.finish(source.config);
  if (!finished.ok()) return std::move(finished).status();
  BackendTraits traits = (*parts.backend)->traits();
  Result<std::string> grouped = configs_.finish_instance_groups(finished.value(), traits, usable_gpus());
  if (!grouped.ok()) return std::move(grouped).status();
  bytes = source.config = std::move(grouped).value();
  ATOLL_RETURN_IF_ERROR(parse_config(bytes, &config));
  source.model = proto::describe_model(config);

  Result<std::unique_ptr<BackendModel>> loaded = (*parts.backend)->load(source);
  if (!loaded.ok()) return std::move(loaded).status();
  parts.backend_model = std::move(loaded).value();
  if (parts.backend_model == nullptr) {
    return internal_error("backend '", config.backend(), "' loaded model '", source.name, "' as nothing");
  }
  return {};
}

Status Loader::create_instances(const PreparedModel& model, ModelParts& parts) {
  parts.instances.resize(parts.specs.size());
  std::vector<Status> failures(parts.specs.size());
  auto create = [&](size_t i) {
    if (parts.instances[i] != nullptr) return;
    auto instance = create_instance(*parts.backend_model, *parts.specs[i]);
    if (!instance.ok()) {
      failures[i] = std::move(instance).status();
    } else if (*instance == nullptr) {
      failures[i] = internal_error("backend '", parts.backend_instance, "' created no instance '",
                                   parts.specs[i]->name, "' of model '", model.files.entry.name, "'");
    } else {
      parts.instances[i] = std::make_shared<CountedInstance>(
          std::move(instance).value(), serving_.requests.fault_notes,
          cat("executing a batch of model '", parts.info->name, "' version ", parts.info->version,
              " on instance '", parts.specs[i]->name, "'"));
    }
  };
  if ((*parts.backend)->traits().parallel_instances) {
    parallel_for(host_.workers(), host_.gate(), parts.specs.size(), create);
  } else {
    for (size_t i = 0; i < parts.specs.size(); ++i) {
      create(i);
      if (!failures[i].ok()) break;
    }
  }
  for (Status& failure : failures) {
    if (!failure.ok()) return std::move(failure);
  }
  for (size_t i = 0; i < parts.specs.size(); ++i) {
    if (!parts.specs[i]->passive) parts.scheduled.push_back({parts.instances[i].get(), parts.specs[i].get()});
  }
  return {};
}

/// What an instance that is bound to cores or a node takes at its creation belongs there, too.
Result<std::unique_ptr<BackendInstance>> Loader::create_instance(BackendModel& model,
                                                                 const InstanceSpec& spec) {
  if (!spec.is_bound()) return model.create_instance(spec);
  Result<SerialExecutorPtr> thread = host_.executors().create(spec.name, spec.placement());
  if (!thread.ok()) {
    return std::move(thread).status().note(
        cat("host policy '", spec.host_policy, "' of instance '", spec.name, "'"));
  }
  std::promise<Result<std::unique_ptr<BackendInstance>>> made;
  (*thread)->post(make_task([&] { made.set_value(model.create_instance(spec)); }));
  return made.get_future().get();
}

void Loader::warn_of_unknown_policies(const inference::ModelConfig& config) {
  for (const auto& group : config.instance_group()) {
    if (group.host_policy().empty() || options_.host_policies.contains(group.host_policy())) continue;
    host_.log().warning("model '", config.name(), "': host policy '", group.host_policy(),
                        "' of instance group '", group.name(),
                        "' is not among the option 'host_policies': its instances may run anywhere");
  }
}

Status Loader::create_scheduler(const PreparedModel& model, const inference::ModelConfig& config,
                                ModelParts& parts, MissingService* missing) {
  parts.scheduler_wish = scheduler_wish(config);
  const SchedulerWish& wish = parts.scheduler_wish;
  parts.priorities = {config.dynamic_batching().priority_levels(),
                      config.dynamic_batching().default_priority_level()};
  auto choice = find_scheduler(host_.registry(), wish, parts.info->name);
  if (!choice.ok()) {
    *missing = {SchedulerProvider::kInterfaceId, wish.instance.empty() ? wish.kind : wish.instance};
    return std::move(choice).status();
  }
  parts.scheduler_provider = std::move(choice->provider);
  parts.scheduler_instance = choice->offer.instance;
  if (wish.instance.empty() && choice->offer.kind != wish.kind) {
    host_.log().warning("model '", parts.info->name, "' version ", parts.info->version,
                        ": no enabled plugin provides a '", wish.kind,
                        "' scheduler; requests are executed one by one by the '", choice->offer.kind,
                        "' scheduler");
  }
  SchedulerContext context;
  context.model_name = parts.info->name;
  context.model_version = parts.info->version;
  context.config = parts.info->config;
  context.model_directory = model.files.entry.path;
  context.max_batch_size = parts.info->max_batch_size;
  context.instances = parts.scheduled;
  context.reporter = parts.statistics.get();
  context.clock = &host_.clock();
  context.executors = &host_.executors();
  context.admissions = parts.admission.instances();
  Result<std::unique_ptr<Scheduler>> scheduler = parts.scheduler_provider->create(context);
  if (!scheduler.ok()) return std::move(scheduler).status();
  parts.scheduler = std::move(scheduler).value();
  if (parts.scheduler != nullptr) return {};
  return internal_error("scheduler '", parts.scheduler_instance, "' made nothing for model '",
                        parts.info->name, "'");
}

std::vector<int32_t> Loader::usable_gpus() {
  std::vector<int32_t> gpus;
  for (const ServiceInfo& info : host_.registry().list(Memory::kInterfaceId)) {
    auto memory = host_.registry().find<Memory>(info.instance);
    if (!memory.ok() || (*memory)->kind() != MemoryKind::kGpu) continue;
    for (int32_t gpu = 0; gpu < kGpusMax; ++gpu) {
      Result<Buffer> probe = (*memory)->allocate(0, gpu);
      if (!probe.ok()) {
        if (probe.status().code() == Code::kInvalidArgument) break;
        continue;
      }
      (*memory)->free(probe.value());
      gpus.push_back(gpu);
    }
    break;
  }
  return gpus;
}

}  // namespace atl::models
