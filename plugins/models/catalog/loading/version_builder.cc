#include "models/catalog/loading/version_builder.h"

#include <algorithm>
#include <future>
#include <map>
#include <string>
#include <utility>

#include "atoll/models/model_files.h"
#include "atoll/models/repository_agents.h"
#include "atoll/proto/model_description.h"
#include "atoll/request/response_cache.h"
#include "models/catalog/loading/backend_choice.h"
#include "models/catalog/loading/inherited_labels.h"
#include "models/catalog/loading/parallel_for.h"
#include "models/catalog/loading/usable_gpus.h"
#include "models/catalog/loading/warmup.h"
#include "models/catalog/serving/instance_specs.h"

namespace atl::models {
namespace {

constexpr std::string_view kDefaultMaxBatchSize = "default-max-batch-size";

/// The settings of one backend; "default-max-batch-size" is always there. Those of others stand under
/// ".<backend>.<setting>", for one that has another run its models: no setting of its own begins with a dot.
std::map<std::string, std::string> settings_of(const LoaderOptions& options, std::string_view backend) {
  std::map<std::string, std::string> settings;
  settings.emplace(kDefaultMaxBatchSize, cat(options.default_max_batch_size));
  for (const auto& [key, value] : options.settings) {
    if (key.find('.') == std::string::npos) settings[key] = value;
  }
  for (const auto& [key, value] : options.settings) {
    const size_t dot = key.find('.');
    if (dot == std::string::npos) continue;
    const bool is_own = std::string_view(key).substr(0, dot) == backend;
    settings[is_own ? key.substr(dot + 1) : cat(".", key)] = value;
  }
  return settings;
}

bool runs_on_gpus(const inference::ModelConfig& config) {
  return std::ranges::all_of(config.instance_group(), [](const inference::ModelInstanceGroup& group) {
    return group.kind() == inference::ModelInstanceGroup::KIND_GPU;
  });
}

/// The completed configuration that is served, with what the new one says of its instances.
Result<inference::ModelConfig> with_instances(const std::string& served, const std::string& wanted) {
  inference::ModelConfig config, other;
  if (!config.ParseFromString(served) || !other.ParseFromString(wanted)) {
    return internal_error("a configuration that was served cannot be parsed");
  }
  *config.mutable_instance_group() = other.instance_group();
  config.clear_version_policy();
  if (other.has_version_policy()) *config.mutable_version_policy() = other.version_policy();
  return config;
}

/// A backend that opens files by their paths would take cipher text for what it is not.
/// \param folder  of the version. \param backend  the name of its instance
Status check_encrypted(const Registry& registry, const std::string& folder, const std::string& backend) {
  const std::vector<ServiceInfo> able = registry.list(EncryptedModels::kInterfaceId);
  if (std::ranges::any_of(able, [&](const ServiceInfo& info) { return info.instance == backend; })) return {};
  const std::string file = find_encrypted_file(folder);
  if (file.empty()) return {};
  std::string others;
  for (const ServiceInfo& info : able) others += cat(others.empty() ? "" : ", ", info.instance);
  return make_status(
      Code::kFailedPrecondition, "model file '", file, "' is encrypted, and backend '", backend,
      "' needs plain files that it can open by their paths; backends that run encrypted models: ",
      others.empty() ? "none" : others);
}

}  // namespace

VersionBuilder::VersionBuilder(const BuildContext& context, const std::shared_ptr<const PreparedModel>& model,
                               const RepositoryVersion& version, const BuiltBeside& served)
    : context_(context),
      model_(*model),
      version_(version),
      base_(served.base),
      before_(served.before),
      task_(context.serving.work, context.serving.requests.fault_notes, "loading",
            cat("model '", model->files.entry.name, "' version ", version.version)) {
  parts_.pass = Pass(context.host.gate());
  parts_.source = model;
  parts_.agents = model->agents.lock();
}

LoadFailure VersionBuilder::build(std::unique_ptr<ServedModel>* built) {
  if (!parts_.pass) return unavailable("the server is going down");
  const int64_t begun_ns = context_.host.clock().now_ns();
  if (LoadFailure failure = configure(); !failure.ok()) return failure;
  if (parts_.agents != nullptr) {
    parts_.dependencies.push_back({RepositoryAgents::kInterfaceId, parts_.agents->instance()});
  }
  ATOLL_RETURN_IF_ERROR(describe());
  if (!model_.ensemble) {
    if (LoadFailure failure = add_instances(); !failure.ok()) return failure;
  }
  if (LoadFailure failure = create_scheduler(); !failure.ok()) return failure;
  auto served = std::make_unique<ServedModel>(context_.serving, std::move(parts_),
                                              find_correlation_control(config_.message),
                                              config_.message.dynamic_batching().preserve_ordering());
  if (LoadFailure failure = warm_up(served); !failure.ok()) {
    failure.is_final = served == nullptr;  // a backend still has it
    return failure;
  }
  const auto took_ns = static_cast<uint64_t>(context_.host.clock().now_ns() - begun_ns);
  served->set_load_duration_ns(base_ == nullptr ? took_ns : base_->statistics().load_duration_ns);
  if (base_ != nullptr) log_changes(*served);
  *built = std::move(served);
  return {};
}

LoadFailure VersionBuilder::configure() {
  if (base_ != nullptr) return configure_like_base();
  return model_.ensemble ? LoadFailure(configure_ensemble()) : load_backend();
}

Status VersionBuilder::configure_ensemble() {
  ATOLL_RETURN_IF_ERROR(config_.take(context_.configs.finish(model_.config)));
  Result<EnsembleMembers> members = EnsembleMembers::hold(context_.catalog, model_.members);
  if (!members.ok()) return std::move(members).status();
  parts_.members = std::move(members).value();
  if (parts_.members.any_decoupled() && config_.message.response_cache().enable()) {
    return invalid_argument("Response Cache does not currently support model ", config_.message.name(),
                            " with 'decoupled' transaction policy. Please disable the response cache.");
  }
  // What was written does not count.
  config_.message.mutable_model_transaction_policy()->set_decoupled(parts_.members.any_decoupled());
  config_.bytes = config_.message.SerializeAsString();
  return {};
}

Status VersionBuilder::configure_like_base() {
  const ModelParts& old = base_->parts();
  parts_.backend = old.backend;
  parts_.traits = old.traits;
  parts_.backend_model = old.backend_model;
  parts_.statistics = old.statistics;
  for (const Dependency& dependency : old.dependencies) {
    const bool of_agents = dependency.interface_id == RepositoryAgents::kInterfaceId;
    if (dependency.kind == Dependency::Kind::kRequired && !of_agents) {
      parts_.dependencies.push_back(dependency);
    }
  }
  Result<inference::ModelConfig> wanted = with_instances(base_->info().config, model_.config);
  if (!wanted.ok()) return std::move(wanted).status();
  return config_.take(finish_groups(wanted->SerializeAsString()));
}

/// By the traits of the backend, for the GPUs that there are.
Result<std::string> VersionBuilder::finish_groups(const std::string& config) const {
  Registry& registry = context_.host.registry();
  Result<std::string> finished =
      context_.configs.finish_instance_groups(config, parts_.traits, usable_gpus(registry));
  inference::ModelConfig message;
  if (!finished.ok() && message.ParseFromString(config)) {
    ATOLL_RETURN_IF_ERROR(check_for_lost_gpus(registry, message));
  }
  return finished;
}

LoadFailure VersionBuilder::load_backend() {
  inference::ModelConfig given;
  ATOLL_RETURN_IF_ERROR(parse_config(model_.config, &given));
  ModelSource source = source_of(given);
  Result<ChosenBackend> chosen = choose_backend(context_.host.registry(), source, given.backend());
  // One of another name, or with other options, may serve it too.
  if (!chosen.ok()) return {std::move(chosen).status(), {Backend::kInterfaceId, {}, true}};
  parts_.dependencies.push_back({Backend::kInterfaceId, chosen->instance});
  parts_.backend = std::make_shared<Service<Backend>>(std::move(chosen->service));
  Backend& backend = **parts_.backend;

  ATOLL_RETURN_IF_ERROR(check_encrypted(context_.host.registry(), version_.path, chosen->instance));
  task_.at(cat("by backend '", parts_.dependencies.back().instance, "'"));
  std::unique_ptr<PendingModel> pending;
  if (parts_.backend->minor() >= Backend::kAnyNameMinor) {
    Result<std::unique_ptr<PendingModel>> begun = backend.begin_load(source);
    if (!begun.ok()) return std::move(begun).status();
    pending = std::move(begun).value();
  }
  parts_.traits = pending == nullptr ? backend.traits() : pending->traits();
  ATOLL_RETURN_IF_ERROR(complete_config(source, pending.get()));
  // Its files are read once more for that; without a cache nobody asks.
  if (config_.message.response_cache().enable() &&
      !context_.host.registry().list(ResponseCache::kInterfaceId).empty()) {
    content_ = ModelContent::look(source.model_directory, source.version_directory);
  }
  Result<std::unique_ptr<BackendModel>> loaded =
      pending == nullptr ? backend.load(source) : pending->load(source);
  if (!loaded.ok()) return std::move(loaded).status();
  parts_.backend_model = std::move(loaded).value();
  if (parts_.backend_model != nullptr) return {};
  return internal_error("backend '", given.backend(), "' loaded model '", source.name, "' as nothing");
}

ModelSource VersionBuilder::source_of(const inference::ModelConfig& given) const {
  ModelSource source;
  source.name = model_.files.entry.name;
  source.version = version_.version;
  source.model_directory = model_.files.entry.path;
  source.version_directory = version_.path;
  source.config = model_.config;
  source.model = proto::describe_model(given);
  source.auto_complete = context_.options.auto_complete;
  source.settings = settings_of(context_.options, given.backend());
  return source;
}

/// Of `source`, too. \param pending  null: the backend does it
Status VersionBuilder::complete_config(ModelSource& source, PendingModel* pending) {
  auto take = [&](Result<std::string> config) -> Status {
    if (!config.ok()) return std::move(config).status();
    source.config = std::move(config).value();
    return {};
  };
  if (pending != nullptr) {
    ATOLL_RETURN_IF_ERROR(take(finish_groups(source.config)));
    ATOLL_RETURN_IF_ERROR(take(pending->complete(source)));
  } else if (source.auto_complete) {
    ATOLL_RETURN_IF_ERROR(take((*parts_.backend)->complete_config(source)));
  }
  ATOLL_RETURN_IF_ERROR(take(context_.configs.finish(source.config)));
  ATOLL_RETURN_IF_ERROR(config_.take(finish_groups(source.config)));
  source.config = config_.bytes;
  source.model = proto::describe_model(config_.message);
  return {};
}

Status VersionBuilder::describe() {
  Result<ModelInfo> info =
      make_model_info(config_.message, config_.bytes, version_.version, model_.files.entry.path);
  if (!info.ok()) return std::move(info).status();
  if (model_.ensemble) inherit_labels(config_.message, parts_.members.by_step(), &info.value());
  if (info->response_cache) info->content_id = content_id();
  info->device_ordered = parts_.traits.device_ordered && runs_on_gpus(config_.message);
  parts_.info = std::make_unique<const ModelInfo>(std::move(info).value());
  if (parts_.statistics == nullptr && before_ != nullptr &&
      before_->info().max_batch_size == parts_.info->max_batch_size) {
    parts_.statistics = before_->parts().statistics;
  }
  if (parts_.statistics == nullptr) {
    parts_.statistics =
        std::make_shared<StatisticsRecorder>(context_.host.clock(), parts_.info->max_batch_size);
  }
  return {};
}

/// With a version that serves; warm-up must not count then.
bool VersionBuilder::is_shared(const std::shared_ptr<StatisticsRecorder>& statistics) const {
  const ServedModel* other = base_ != nullptr ? base_ : before_;
  return other != nullptr && other->parts().statistics == statistics;
}

std::string VersionBuilder::content_id() const {
  if (model_.ensemble) return ensemble_content_id(config_.message, parts_.members.by_step());
  return base_ == nullptr ? content_.id(config_.message) : base_->info().content_id;
}

LoadFailure VersionBuilder::add_instances() {
  warn_of_unknown_policies();
  ATOLL_RETURN_IF_ERROR(make_specs());
  // Before the instances, which may take long to make: it may not be possible to execute on them. Not shared with
  // the base: until its scheduler is done, both ask for the instances that stay.
  auto admission = VersionAdmission::create(context_.host.registry(), config_.message, version_.version);
  if (!admission.ok()) {
    // Another one, or this one with other options, or none at all, may grant it.
    return {std::move(admission).status(), {ExecutionAdmission::kInterfaceId, {}, true}};
  }
  parts_.admission = std::move(admission).value();
  // An empty name stands for one that comes.
  parts_.dependencies.push_back({ExecutionAdmission::kInterfaceId, {}, Dependency::Kind::kOptional});
  for (const std::string& plugin : parts_.admission.plugins()) {
    parts_.dependencies.push_back({ExecutionAdmission::kInterfaceId, plugin, Dependency::Kind::kOptional});
  }
  return create_instances();
}

Status VersionBuilder::make_specs() {
  InferenceReporter* reporter = is_shared(parts_.statistics) ? nullptr : parts_.statistics.get();
  auto specs = make_instance_specs(config_.message, context_.options.host_policies, reporter);
  if (!specs.ok()) return std::move(specs).status();
  parts_.specs.resize(specs->size());
  parts_.instances.resize(specs->size());
  if (base_ != nullptr) kept_ = take_over(base_->parts(), *specs, parts_);
  for (size_t i = 0; i < specs->size(); ++i) {
    std::unique_ptr<InstanceSpec>& spec = specs.value()[i];
    if (!is_shared(parts_.statistics)) {
      parts_.specs[i] = std::move(spec);
    } else if (parts_.instances[i] == nullptr) {
      made_.push_back(std::make_shared<QuietSpec>(std::move(*spec), parts_.statistics.get()));
      parts_.specs[i] = {made_.back(), &made_.back()->spec};
    }
  }
  return {};
}

/// Those that are not there yet.
Status VersionBuilder::create_instances() {
  std::vector<Status> failures(parts_.specs.size());
  auto create = [&](size_t i) {
    if (parts_.instances[i] != nullptr) return;
    task_.at(cat("creating instance ", parts_.specs[i]->name));
    const std::string doing = cat(task_.text(), ", creating instance '", parts_.specs[i]->name, "'");
    const FaultNote note(context_.serving.requests.fault_notes, doing.c_str());
    auto instance = create_instance(*parts_.specs[i]);
    if (instance.ok()) {
      parts_.instances[i] = std::move(instance).value();
    } else {
      failures[i] = std::move(instance).status();
    }
  };
  if (parts_.traits.parallel_instances) {
    parallel_for(context_.host.workers(), context_.host.gate(), parts_.specs.size(), create);
  } else {
    for (size_t i = 0; i < parts_.specs.size(); ++i) {
      create(i);
      if (!failures[i].ok()) break;
    }
  }
  for (Status& failure : failures) {
    if (!failure.ok()) return std::move(failure);
  }
  for (size_t i = 0; i < parts_.specs.size(); ++i) {
    if (parts_.specs[i]->passive) continue;
    parts_.scheduled.push_back({parts_.instances[i].get(), parts_.specs[i].get()});
  }
  return {};
}

Result<std::shared_ptr<CountedInstance>> VersionBuilder::create_instance(const InstanceSpec& spec) {
  auto made = create_where_bound(spec);
  if (!made.ok()) return std::move(made).status();
  if (*made == nullptr) {
    return internal_error("backend '", config_.message.backend(), "' created no instance '", spec.name,
                          "' of model '", model_.files.entry.name, "'");
  }
  ATOLL_RETURN_IF_ERROR(check_gpu_load_limit(context_.host, context_.options.gpu_load_limits, spec));
  return std::make_shared<CountedInstance>(
      std::move(made).value(), parts_.backend->minor(), context_.serving.requests.fault_notes,
      cat("executing a batch of model '", parts_.info->name, "' version ", parts_.info->version,
          " on instance '", spec.name, "'"),
      spec.kind == InstanceKind::kGpu ? nullptr : context_.serving.requests.device_inputs, spec.reporter,
      std::make_unique<OutputCheck>(*parts_.info, spec.name, context_.host.log(), context_.host.clock()));
}

/// What an instance that is bound to cores or a node takes at its creation belongs there, too.
Result<std::unique_ptr<BackendInstance>> VersionBuilder::create_where_bound(const InstanceSpec& spec) {
  BackendModel& model = *parts_.backend_model;
  if (!spec.is_bound()) return model.create_instance(spec);
  Result<SerialExecutorPtr> thread = context_.host.executors().create(spec.name, spec.placement());
  if (!thread.ok()) {
    return std::move(thread).status().note(
        cat("host policy '", spec.host_policy, "' of instance '", spec.name, "'"));
  }
  std::promise<Result<std::unique_ptr<BackendInstance>>> made;
  (*thread)->post(make_task([&] {
    const FaultNote note(context_.serving.requests.fault_notes, task_.text().c_str());
    made.set_value(model.create_instance(spec));
  }));
  return made.get_future().get();
}

LoadFailure VersionBuilder::create_scheduler() {
  const WantedScheduler& wanted = parts_.wanted_scheduler =
      wanted_scheduler(config_.message, parts_.info->config);
  std::vector<SchedulerOffer> offers = scheduler_offers(context_.host.registry());
  auto choice = choose_scheduler(offers, wanted, parts_.info->name);
  if (!choice.ok()) return {std::move(choice).status(), {SchedulerProvider::kInterfaceId}};
  const std::string instance = (*choice)->instance;
  parts_.scheduler_provider = std::move((*choice)->provider);
  parts_.dependencies.push_back({SchedulerProvider::kInterfaceId, instance, Dependency::Kind::kChosen});
  SchedulerProvider& provider = *parts_.scheduler_provider;
  parts_.priorities = provider.priorities(wanted.demand);
  if (wanted.instance.empty() && provider.serves(wanted.demand) < kFits) {
    context_.host.log().warning("model '", parts_.info->name, "' version ", parts_.info->version,
                                ": no enabled plugin provides a '", wanted.demand.kind,
                                "' scheduler; requests are executed one by one by the '", provider.kind(),
                                "' scheduler");
  }
  SchedulerContext context;
  context.model_name = parts_.info->name;
  context.model_version = parts_.info->version;
  context.config = parts_.info->config;
  context.model_directory = model_.files.entry.path;
  context.max_batch_size = parts_.info->max_batch_size;
  context.instances = parts_.scheduled;
  context.reporter = parts_.statistics.get();
  context.clock = &context_.host.clock();
  context.executors = &context_.host.executors();
  context.admissions = parts_.admission.instances();
  context.members = parts_.members.by_step();
  Result<std::unique_ptr<Scheduler>> scheduler = provider.create(context);
  if (!scheduler.ok()) return std::move(scheduler).status();
  parts_.scheduler = std::move(scheduler).value();
  if (parts_.scheduler != nullptr) return {};
  return internal_error("scheduler '", instance, "' made nothing for model '", parts_.info->name, "'");
}

/// Of instances that serve already, nothing.
Status VersionBuilder::warm_up(std::unique_ptr<ServedModel>& served) {
  std::vector<ScheduledInstance> fresh = served->parts().scheduled;
  if (base_ != nullptr) {
    std::erase_if(fresh, [&](const ScheduledInstance& instance) {
      return std::none_of(made_.begin(), made_.end(),
                          [&](const auto& one) { return &one->spec == instance.spec; });
    });
  }
  const WarmupOptions options{context_.host.clock(), context_.host.gate(), context_.left_warmups, task_,
                              context_.options.warmup_timeout_ns};
  ATOLL_RETURN_IF_ERROR(run_warmup(options, config_.message, model_.files.entry.path, served, fresh));
  for (const auto& spec : made_) spec->quiet.open();
  if (!is_shared(served->parts().statistics)) served->parts().statistics->reset();  // what warm-up counted
  return {};
}

void VersionBuilder::warn_of_unknown_policies() {
  for (const auto& group : config_.message.instance_group()) {
    if (group.host_policy().empty() || context_.options.host_policies.contains(group.host_policy())) continue;
    context_.host.log().warning("model '", config_.message.name(), "': host policy '", group.host_policy(),
                                "' of instance group '", group.name(),
                                "' is not among the option 'host_policies': its instances may run anywhere");
  }
}

void VersionBuilder::log_changes(const ServedModel& served) {
  const size_t gone = base_->parts().instances.size() - kept_;
  if (made_.empty() && gone == 0) return;
  context_.host.log().info("'", served.info().name, "' version ", served.info().version,
                           " changes its instances: ", kept_, " stay, ", made_.size(), " are new, ", gone,
                           " go when they are idle");
}

}  // namespace atl::models
