// A backend and a scheduler of which one throws where nothing catches, aborts or does not return, as its options say.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "atoll/backend/backend.h"
#include "atoll/core/plugin.h"
#include "atoll/request/scheduler.h"

namespace {

[[gnu::noinline]] void fail(const char* what) { throw std::runtime_error(what); }

/// Where something is to happen, and what.
struct Trouble {
  std::string where, does;
  void here(std::string_view place, const char* what) const {
    if (where != place) return;
    if (does == "abort") ::abort();
    while (does == "hang") ::pause();
    fail(what);
  }
};

class Instance final : public atl::BackendInstance {
 public:
  explicit Instance(const Trouble& trouble) : trouble_(trouble) {}
  atl::Status execute(const atl::Batch&) noexcept override {
    trouble_.here("execute", "no such layer");
    return atl::unimplemented("no layers");
  }

 private:
  const Trouble trouble_;
};

class Model final : public atl::BackendModel {
 public:
  explicit Model(const Trouble& trouble) : trouble_(trouble) {}
  ~Model() override { trouble_.here("unload", "no such file"); }
  atl::Result<std::unique_ptr<atl::BackendInstance>> create_instance(
      const atl::InstanceSpec&) noexcept override {
    trouble_.here("instance", "no such device");
    return std::unique_ptr<atl::BackendInstance>(std::make_unique<Instance>(trouble_));
  }

 private:
  const Trouble trouble_;
};

class Backend final : public atl::Backend {
 public:
  explicit Backend(const Trouble& trouble) : trouble_(trouble) {}
  atl::BackendTraits traits() const noexcept override { return {}; }
  atl::Result<std::string> complete_config(const atl::ModelSource& source) noexcept override {
    return source.config;
  }
  atl::Result<std::unique_ptr<atl::BackendModel>> load(const atl::ModelSource&) noexcept override {
    trouble_.here("load", "no such file");
    return std::unique_ptr<atl::BackendModel>(std::make_unique<Model>(trouble_));
  }

 private:
  const Trouble trouble_;
};

class Scheduler final : public atl::Scheduler {
 public:
  explicit Scheduler(const Trouble& trouble) : trouble_(trouble) {}
  atl::Status enqueue(atl::Request&) noexcept override {
    trouble_.here("enqueue", "no such queue");
    return atl::unimplemented("no queue");
  }
  void stop_accepting() noexcept override {}
  uint64_t in_flight() const noexcept override { return 0; }

 private:
  const Trouble trouble_;
};

class Schedulers final : public atl::SchedulerProvider {
 public:
  explicit Schedulers(const Trouble& trouble) : trouble_(trouble) {}
  std::string_view kind() const noexcept override { return "thrower"; }
  atl::Result<std::unique_ptr<atl::Scheduler>> create(const atl::SchedulerContext&) noexcept override {
    return std::unique_ptr<atl::Scheduler>(std::make_unique<Scheduler>(trouble_));
  }

 private:
  const Trouble trouble_;
};

class Thrower final : public atl::Plugin {
 public:
  explicit Thrower(atl::Host& host)
      : trouble_{std::string(host.options().get_string("where")),
                 std::string(host.options().get_string("does"))} {}
  Backend& backend() noexcept { return backend_; }
  Schedulers& schedulers() noexcept { return schedulers_; }

 private:
  const Trouble trouble_;
  Backend backend_{trouble_};
  Schedulers schedulers_{trouble_};
};

constexpr atl::OptionTable kOptions{
    atl::option_string("where")
        .required()
        .choices("execute|enqueue|load|instance|unload")
        .help("in which function"),
    atl::option_string("does", "throw").choices("throw|abort|hang").help("what it does")};

}  // namespace

ATOLL_PLUGIN(Thrower, {.name = "fixtures/thrower",
                       .version = "1.0.0",
                       .license = "Apache-2.0",
                       .help = "A fixture of the lifecycle tests whose models throw, abort or hang.",
                       .provides = {atl::provide<atl::Backend, &Thrower::backend>(),
                                    atl::provide<atl::SchedulerProvider, &Thrower::schedulers>()},
                       .options = kOptions});
