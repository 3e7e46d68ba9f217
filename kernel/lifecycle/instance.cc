#include "kernel/lifecycle/instance.h"

#include <exception>
#include <type_traits>

#include "atoll/runtime/fault_report.h"
#include "atoll/runtime/problems.h"

namespace atl::kernel {
namespace {

using enum PluginStateChanged::State;

std::function<void()> report_throw(LogSink& sink, const std::string& instance) {
  return [&sink, instance] { sink.write(LogLevel::kError, instance, "a task let an exception out"); };
}

}  // namespace

void publish_changes(KernelContext& kernel, const std::vector<ServiceChange>& changes) {
  for (const ServiceChange& change : changes) {
    ServiceChanged event;
    std::string key = cat(change.interface_id, " ", change.instance);
    event.key_text = std::string_view(key);
    event.interface_id = std::string_view(change.interface_id);
    event.instance = std::string_view(change.instance);
    event.kind = static_cast<ServiceChanged::Kind>(change.kind);
    bool gone = change.kind == ServiceChange::Kind::kWithdrawn;
    kernel.events.publish(ServiceChanged::kEventId, event.key(), &event, sizeof event, !gone);
    if (gone) kernel.events.forget(ServiceChanged::kEventId, event.key());
  }
}

Instance::Instance(KernelContext& kernel, PlannedInstance planned, uint64_t generation,
                   const Instance* predecessor)
    : kernel_(kernel),
      planned_(std::move(planned)),
      generation_(generation),
      predecessor_runs_(predecessor == nullptr || predecessor->planned_.config.use != planned_.config.use
                            ? nullptr
                            : predecessor->runs_),
      log_(kernel.log_sink.for_instance(planned_.config.name)),
      registry_(kernel.services),
      events_(kernel.events),
      executors_(kernel.clock, report_throw(kernel.log_sink, planned_.config.name)),
      tasks_(std::make_shared<runtime::InstanceTasks>(kernel.loop, kernel.workers, kernel.poke,
                                                      report_throw(kernel.log_sink, planned_.config.name))),
      gate_([](void* context) { static_cast<Instance*>(context)->kernel_.poke(); }, this),
      owns_name_(predecessor == nullptr) {
  tasks_->watch(kernel.watch, text());
  std::set<std::string> needs;
  for (const auto& need : planned_.library->needs()) needs.insert(need.id);
  registry_.set_owner(kernel.services.add_owner(planned_.config.name, planned_.bindings, std::move(needs)));
  publish_state({});
  move_to(kResolved);
  move_to(kLoaded);
}

std::string_view Instance::difference_from(const PlannedInstance& planned, bool bound) const {
  if (planned_.config.use != planned.config.use) return "plugin";
  if (planned_.library.get() != planned.library.get()) return "file";
  if (planned_.config.needs != planned.config.needs || (bound && planned_.bindings != planned.bindings))
    return "needs";
  if (options_now().equals(*planned.options)) return "";
  bool follows = false;
  if (follower_ != nullptr) {
    call_logged("can_follow", [&] { follows = follower_->can_follow(*planned.options); });
  }
  return follows ? "" : "options";
}

bool Instance::follow(std::unique_ptr<OptionValues> options) {
  if (options_now().equals(*options)) return false;
  call_logged("follow", [&] { follower_->follow(*options); });
  followed_ = std::move(options);
  OptionsFollowed event;
  event.instance = std::string_view(name());
  kernel_.events.publish(event.kEventId, event.key(), &event, sizeof event, false);
  return true;
}

void Instance::own_name() {
  owns_name_ = true;
  publish_state({});
}

void Instance::move_to(InstanceState state, std::string_view reason) {
  if (state_ == kFailed) return;  // what is undone of a failed instance does not hide that it failed
  if (!may_follow(state_, state)) {
    kernel_.log.error(text(), ": defect of the kernel: ", state_name(state), " must not follow ",
                      state_name(state_));
  }
  state_ = state;
  publish_state(reason);
}

void Instance::publish_state(std::string_view reason) {
  PluginStateChanged event;
  event.instance = std::string_view(name());
  event.plugin = std::string_view(planned_.config.use);
  event.state = state_;
  event.generation = generation_;
  event.reason = reason;
  std::string key = owns_name_ ? name() : cat(name(), "@", generation_);
  kernel_.events.publish(event.kEventId, key, &event, sizeof event, owns_name_);
  kernel_.log.debug(text(), ": ", state_name(state_), ", generation ", generation_);
}

Status Instance::failed(std::string_view step, Status cause) {
  const std::string begin = cat(runtime::location_text(planned_.config.where), ": ", text(), ": ", step);
  Status status(cause.code(), runtime::prefix_lines(cat(begin, " failed: "), cause.text()));
  status.set_origin(name());
  move_to(kFailed, status.message());
  return status;
}

/// Calls into the plugin, so that a fault in there names it. Plugins in C++ catch their exceptions
/// themselves; this is for those made by hand.
template <class Call>
Status Instance::call(std::string_view step, Call&& function) const noexcept {
  const std::string doing = cat("calling '", step, "' of ", text());
  runtime::ThreadNote note(doing.c_str());
  runtime::CallWatch::Call watched(&kernel_.watch, cat(step, " of ", text()));
  try {
    if constexpr (std::is_void_v<decltype(function())>) {
      function();
      return {};
    } else {
      return function();
    }
  } catch (const std::exception& error) {
    return internal_error("threw: ", error.what());
  } catch (...) {
    return internal_error("threw something that is not a std::exception");
  }
}

template <class Call>
void Instance::call_logged(std::string_view step, Call&& function) const noexcept {
  Status status = call(step, function);
  if (!status.ok()) log_->error(step, ": ", status.text());
}

Status Instance::create() {
  Status status = call("create", [&] {
    auto* host = reinterpret_cast<atoll_host*>(static_cast<Host*>(this));
    return Status::take(calls().create(host, &self_));
  });
  if (!status.ok()) {
    self_ = nullptr;
    return failed("create", std::move(status));
  }
  if (std::string defect = planned_.options->take_defect(); !defect.empty()) {
    return failed("create", internal_error(defect));
  }
  if (self_ == nullptr) return failed("create", internal_error("it succeeded without making an instance"));
  if (Status queried = query_services(); !queried.ok()) return failed("query", std::move(queried));
  move_to(kCreated);
  return {};
}

Status Instance::query_services() {
  for (const auto& row : planned_.library->provides()) {
    Publication service{owner(), {row.id, name(), planned_.config.use, row.minor, row.rank}, nullptr};
    ATOLL_RETURN_IF_ERROR(call("query", [&] { service.implementation = calls().query(self_, row.id); }));
    if (service.implementation == nullptr)
      return internal_error("it provides ", row.id, ", but gave no implementation");
    if (service.info.interface_id == OptionsFollower::kInterfaceId) {
      follower_ = static_cast<OptionsFollower*>(service.implementation);
    }
    services_.push_back(std::move(service));
  }
  return {};
}

Status Instance::start() {
  Status status = call("start", [&] { return Status::take(calls().start(self_)); });
  if (!status.ok()) return failed("start", std::move(status));
  if (std::string defect = planned_.options->take_defect(); !defect.empty()) {
    call_logged("stop", [&] { calls().stop(self_); });
    return failed("start", internal_error(defect));
  }
  planned_.options->seal();
  started_ = true;
  runs_->store(true);
  move_to(kActive);
  for (const Publication& service : services_) kernel_.services.publish(service);
  return {};
}

void Instance::begin_drain(int64_t deadline_ns) {
  draining_ = true;
  retires_.store(true);
  tasks_->watch_idle();
  if (started_) move_to(kDraining);
  publish_changes(kernel_, kernel_.services.withdraw(owner()));
  gate_.close();
  if (started_) {
    call_logged("drain", [&] { calls().drain(self_, deadline_ns); });
  } else {
    tasks_->close();
  }
}

bool Instance::quiescent() {
  if (!draining_ || gate_.count() != 0 || tasks_->pending() != 0 || !holders().empty()) return false;
  // Nobody gets in any more, but a callback that it gave to another instance may be returning on a worker.
  if (!last_inside_) last_inside_ = kernel_.workers.mark();
  return kernel_.workers.settled(*last_inside_, kernel_.poke);
}

std::string Instance::held_by() const {
  std::string held;
  auto add = [&](std::string_view what) { held += cat(held.empty() ? "" : "; ", what); };
  const std::vector<Holding> all = holders();
  if (!all.empty()) add(cat("services held by ", holdings_text(all)));
  for (const Holding& one : all) {
    if (std::string said = kernel_.holding_of(one.holder); !said.empty())
      add(cat(one.holder_name, " says: ", said));
  }
  if (int64_t inside = gate_.count(); inside != 0)
    add(cat(inside, inside == 1 ? " caller is" : " callers are", " inside it"));
  if (int64_t pending = tasks_->pending(); pending != 0) add(cat(pending, " tasks"));
  if (std::string said = holding(); !said.empty()) add(cat("it says: ", said));
  return held;
}

std::string Instance::holding() const {
  char said[512] = {};
  if (self_ != nullptr) call_logged("holding", [&] { calls().holding(self_, said, sizeof said); });
  said[sizeof said - 1] = '\0';
  return said;
}

void Instance::finish() {
  finished_ = true;
  if (started_) {
    call_logged("stop", [&] { calls().stop(self_); });
    runs_->store(false);
    move_to(kStopped);
  }
  tasks_->close();
  if (self_ != nullptr) {
    call_logged("destroy", [&] { calls().destroy(self_); });
    self_ = nullptr;
    move_to(kDestroyed);
  }
  report_leftovers();
  runtime::CallWatch::Call watched(&kernel_.watch, cat("unloading of ", text()));
  // What other instances still use, or what stays mapped, ends as destroyed: it is not unloaded.
  if (planned_.library.close() == PluginLoader::Closed::kUnloaded) move_to(kUnloaded);
  if (leaving_ && owns_name_) kernel_.events.forget(PluginStateChanged::kEventId, name());
}

void Instance::report_leftovers() {
  if (size_t left = events_.end_all(); left != 0) {
    kernel_.log.warning(text(), ": left ", left, " event subscriptions open; they were ended");
  }
  if (std::vector<Holding> left = kernel_.services.remove_owner(owner()); !left.empty()) {
    kernel_.log.warning(text(), ": left services held, which were given back: ", holdings_text(left));
  }
  if (executors_.live() != 0 || tasks_->pending() != 0) {
    kernel_.log.error(text(), ": left ", executors_.live(), " executors and ", tasks_->pending(),
                      " tasks running; its file stays mapped");
    planned_.library.pin();
  }
}

}  // namespace atl::kernel
