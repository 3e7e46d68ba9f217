// A backend and a scheduler of which one throws where nothing catches, as the option says.
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
  explicit Instance(bool throws) : throws_(throws) {}
  atl::Status execute(const atl::Batch&) noexcept override {
    if (throws_) fail("no such layer");
    return atl::unimplemented("no layers");
  }

 private:
  const bool throws_;
};

class Model final : public atl::BackendModel {
 public:
  explicit Model(bool throws) : throws_(throws) {}
  atl::Result<std::unique_ptr<atl::BackendInstance>> create_instance(
      const atl::InstanceSpec&) noexcept override {
    return std::unique_ptr<atl::BackendInstance>(std::make_unique<Instance>(throws_));
  }

 private:
  const bool throws_;
};

class Backend final : public atl::Backend {
 public:
  explicit Backend(bool throws) : throws_(throws) {}
  bool throws() const noexcept { return throws_; }
  atl::BackendTraits traits() const noexcept override { return {}; }
  atl::Result<std::string> complete_config(const atl::ModelSource& source) noexcept override {
    return source.config;
  }
  atl::Result<std::unique_ptr<atl::BackendModel>> load(const atl::ModelSource&) noexcept override {
    return std::unique_ptr<atl::BackendModel>(std::make_unique<Model>(throws_));
  }

 private:
  const bool throws_;
};

class Scheduler final : public atl::Scheduler {
 public:
  explicit Scheduler(bool throws) : throws_(throws) {}
  atl::Status enqueue(atl::Request&) noexcept override {
    if (throws_) fail("no such queue");
    return atl::unimplemented("no queue");
  }
  void stop_accepting() noexcept override {}
  uint64_t in_flight() const noexcept override { return 0; }

 private:
  const bool throws_;
};

class Schedulers final : public atl::SchedulerProvider {
 public:
  explicit Schedulers(bool throws) : throws_(throws) {}
  std::string_view kind() const noexcept override { return "thrower"; }
  atl::Result<std::unique_ptr<atl::Scheduler>> create(const atl::SchedulerContext&) noexcept override {
    return std::unique_ptr<atl::Scheduler>(std::make_unique<Scheduler>(throws_));
  }

 private:
  const bool throws_;
};

class Thrower final : public atl::Plugin {
 public:
  explicit Thrower(atl::Host& host)
      : backend_(host.options().get_string("where") == "execute"), schedulers_(!backend_.throws()) {}
  Backend& backend() noexcept { return backend_; }
  Schedulers& schedulers() noexcept { return schedulers_; }

 private:
  Backend backend_;
  Schedulers schedulers_;
};

constexpr atl::OptionTable kOptions{
    atl::option_string("where").required().choices("execute|enqueue").help("which function throws")};

}  // namespace

ATOLL_PLUGIN(Thrower, {.name = "fixtures/thrower",
                       .version = "1.0.0",
                       .license = "Apache-2.0",
                       .help = "A fixture of the lifecycle tests whose request path throws.",
                       .provides = {atl::provide<atl::Backend, &Thrower::backend>(),
                                    atl::provide<atl::SchedulerProvider, &Thrower::schedulers>()},
                       .options = kOptions});
