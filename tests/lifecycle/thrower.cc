// A backend and a scheduler that throw where nothing catches.
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "atoll/backend.h"
#include "atoll/plugin.h"
#include "atoll/scheduler.h"

namespace {

[[gnu::noinline]] void fail(const char* what) { throw std::runtime_error(what); }

class Instance final : public atl::BackendInstance {
 public:
  atl::Status execute(const atl::Batch&) noexcept override {
    fail("no such layer");
    return {};
  }
};

class Model final : public atl::BackendModel {
 public:
  atl::Result<std::unique_ptr<atl::BackendInstance>> create_instance(
      const atl::InstanceSpec&) noexcept override {
    return std::unique_ptr<atl::BackendInstance>(std::make_unique<Instance>());
  }
};

class Backend final : public atl::Backend {
 public:
  atl::BackendTraits traits() const noexcept override { return {}; }
  atl::Result<std::string> complete_config(const atl::ModelSource& source) noexcept override {
    return source.config;
  }
  atl::Result<std::unique_ptr<atl::BackendModel>> load(const atl::ModelSource&) noexcept override {
    return std::unique_ptr<atl::BackendModel>(std::make_unique<Model>());
  }
};

class Scheduler final : public atl::Scheduler {
 public:
  atl::Status enqueue(atl::Request&) noexcept override {
    fail("no such queue");
    return {};
  }
  void stop_accepting() noexcept override {}
  uint64_t in_flight() const noexcept override { return 0; }
};

class Schedulers final : public atl::SchedulerProvider {
 public:
  std::string_view kind() const noexcept override { return "thrower"; }
  atl::Result<std::unique_ptr<atl::Scheduler>> create(const atl::SchedulerContext&) noexcept override {
    return std::unique_ptr<atl::Scheduler>(std::make_unique<Scheduler>());
  }
};

class Thrower final : public atl::Plugin {
 public:
  explicit Thrower(atl::Host&) {}
  Backend& backend() noexcept { return backend_; }
  Schedulers& schedulers() noexcept { return schedulers_; }

 private:
  Backend backend_;
  Schedulers schedulers_;
};

}  // namespace

ATOLL_PLUGIN(Thrower, {.name = "fixtures/thrower",
                       .version = "1.0.0",
                       .license = "Apache-2.0",
                       .help = "A fixture of the lifecycle tests whose request path throws.",
                       .provides = {atl::provide<atl::Backend, &Thrower::backend>(),
                                    atl::provide<atl::SchedulerProvider, &Thrower::schedulers>()}});
