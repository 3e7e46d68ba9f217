/// The console's routes on a host with everything that they ask, for tests.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/kernel_control.h"
#include "atoll/core/log_control.h"
#include "atoll/core/text.h"
#include "atoll/models/model_queues.h"
#include "atoll/request/trace_log.h"
#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/fake_http_exchange.h"
#include "frontends/console/console_routes.h"

namespace atl::test {

using frontends::console::CallerRules;
using frontends::console::ConsoleRoutes;

/// One socket of an instance "http".
class OneListener final : public Listeners {
 public:
  virtual ~OneListener() = default;
  explicit OneListener(uint32_t address) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in bound{};
    bound.sin_family = AF_INET;
    bound.sin_addr.s_addr = htonl(address);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&bound), sizeof bound), 0);
  }
  void add(const Host&, int) noexcept override {}
  void remove(const Host&, int) noexcept override {}
  void visit(const std::function<void(const Host&, int)>& look) const noexcept override {
    look(owner_, fd_.get());
  }

 private:
  FakeHost owner_{"http"};
  const FileDescriptor fd_;
};

/// May see the one model.
class OneModel final : public Identity {
 public:
  explicit OneModel(std::string model, bool may_act = false) : model_(std::move(model)), may_act_(may_act) {}
  std::string_view name() const noexcept override { return "somebody"; }
  std::string_view tenant() const noexcept override { return {}; }
  bool may(ApiCategory, std::string_view category, std::string_view model) const noexcept override {
    return (may_act_ || category == "console.read") && (model.empty() || model == model_ || model_ == "*");
  }
  bool may_all(ApiCategory, std::string_view) const noexcept override { return model_ == "*"; }
  bool holds() const noexcept override { return true; }

 private:
  const std::string model_;
  const bool may_act_;
};

/// Lets clients load, and is never asked to.
class FixedControl final : public ModelControl {
 public:
  virtual ~FixedControl() = default;
  std::string_view mode() const noexcept override { return "explicit"; }
  void load(std::string, std::vector<ModelControlParameter>, Done) noexcept override {}
  void unload(std::string, std::vector<ModelControlParameter>, Done) noexcept override {}
};

/// Goes to no file.
class FixedLog final : public LogControl {
 public:
  virtual ~FixedLog() = default;
  LogSettings settings() const noexcept override {
    LogSettings settings;
    settings.file = "/dev/null";
    return settings;
  }
  Status update(const LogSettings&) noexcept override { return {}; }
};

/// Runs one instance, and is asked to apply nothing.
class FixedKernel final : public KernelControl {
 public:
  virtual ~FixedKernel() = default;
  std::shared_ptr<const RunningManifest> running() const noexcept override {
    const OptionState word{"word", "string", "", "", "What is said.", false, true};
    return std::make_shared<const RunningManifest>(RunningManifest{3, {{"<b>", "x/a", {word}}}});
  }
  void compare(std::optional<std::string> text, Compared done) noexcept override {
    if (text && text->empty())
      return done(make_status(Code::kInvalidArgument, "the text:1:1: one\nthe text:2:1: two"));
    if (text && *text == "late") return done(make_status(Code::kUnavailable, "the server ends"));
    ManifestDifference found{3, {}, true, {"new"}};
    found.instances.push_back({"a",
                               text ? "x/text" : "x/file",
                               InstanceDifference::Kind::kReplaced,
                               "options",
                               {{"n", "1", "2", false}, {"word", "", "", true}}});
    done(std::move(found));
  }
  Status apply() noexcept override {
    ++applied;
    return {};
  }
  int applied = 0;
};

/// Has a trace of each of two models, or none yet.
class FixedTraces final : public TraceLog {
 public:
  virtual ~FixedTraces() = default;
  bool active() const noexcept override { return is_active; }
  std::vector<TraceSummary> slowest() const noexcept override {
    std::vector<TraceSummary> all;
    for (uint64_t id = 1; has_any && id <= 2; ++id) all.push_back(find(id).value().summary);
    return all;
  }
  Result<FinishedTrace> find(uint64_t id) const noexcept override {
    if (!has_any || id == 0 || id > 2)
      return make_status(Code::kNotFound, "trace ", id, " is another's text");
    FinishedTrace trace;
    trace.summary.id = id;
    trace.summary.model = id == 1 ? "first" : "second";
    trace.summary.spans = 1;
    trace.spans.emplace_back().name = "trace";
    return trace;
  }
  bool is_active = false;
  bool has_any = false;
};

/// Has three requests that wait for "first", and notes what is done.
class FixedQueues final : public ModelQueues {
 public:
  virtual ~FixedQueues() = default;
  Result<ModelQueue> describe(std::string_view, int64_t) noexcept override { return ModelQueue(); }
  Result<uint64_t> cancel_waiting(std::string_view model, int64_t version, uint64_t level) noexcept override {
    if (model != "first") return make_status(Code::kNotFound, "there is no ", model);
    done.push_back(cat("cancel ", model, " ", version, " ", level));
    return 3;
  }
  Status set_draining(std::string_view model, int64_t version, bool draining) noexcept override {
    if (model != "first") return make_status(Code::kUnimplemented, "its scheduler cannot");
    done.push_back(cat(draining ? "drain " : "resume ", model, " ", version));
    return {};
  }
  std::vector<DrainedVersion> draining() noexcept override { return {}; }
  std::vector<std::string> done;
};

using Headers = std::vector<std::pair<std::string, std::string>>;
inline const Headers kLocal = {{"Host", "localhost:8000"}};

class ServedConsole final {
 public:
  explicit ServedConsole(uint32_t address = INADDR_LOOPBACK, bool is_controlled = false)
      : listener_(address), routes_(host_, CallerRules{{"localhost"}, {"grpc"}}, 0) {
    catalog_.add_identity("first");
    catalog_.add_identity("<img onerror>");
    host_.registry().publish<ModelCatalog>("models", catalog_);
    if (is_controlled) host_.registry().publish<ModelControl>("control", control_);
    host_.registry().publish<Listeners>("kernel", listener_);
    host_.registry().publish<ModelQueues>("models", queues_);
    host_.registry().publish<LogControl>("kernel", log_);
    host_.registry().publish<KernelControl>("kernel", kernel_);
    EXPECT_TRUE(routes_.start().ok());
  }
  ~ServedConsole() {
    // A call's thread may still be on its way out; the server waits for it likewise.
    host_.gate().close();
    while (host_.gate().count() != 0) std::this_thread::yield();
    routes_.stop();
  }
  HttpRoutes& routes() { return routes_; }
  FakeModelCatalog& catalog() { return catalog_; }
  FakeRegistry& registry() { return host_.registry(); }
  int applied() const { return kernel_.applied; }
  const std::vector<std::string>& done() const { return queues_.done; }
  /// From here on traces are kept.
  FixedTraces& keep_traces() {
    host_.registry().publish<TraceLog>("trace", traces_);
    return traces_;
  }
  void drain() { host_.gate().close(); }

  /// \param body  of a POST; null: it is a GET
  ReceivedHttpReply ask(const std::string& path, Headers headers = kLocal, const Identity* identity = nullptr,
                        const char* body = nullptr) {
    const size_t question = path.find('?');
    const std::string plain = path.substr(0, question);
    FakeHttpExchange exchange({body == nullptr ? "GET" : "POST", plain,
                               question == std::string::npos ? "" : path.substr(question + 1),
                               std::move(headers), body == nullptr ? "" : body});
    exchange.set_identity(identity);
    exchange.send_to(routes_, plain.starts_with("/console/") ? "/console/*" : plain);
    EXPECT_TRUE(exchange.wait_end(std::chrono::minutes(1)));
    for (const std::string& problem : exchange.problems()) ADD_FAILURE() << problem;
    return exchange.reply();
  }

 private:
  FakeHost host_{"console", FakeHost::Threads::kReal};
  FakeModelCatalog catalog_;
  FixedQueues queues_;
  FixedControl control_;
  FixedLog log_;
  FixedKernel kernel_;
  FixedTraces traces_;
  OneListener listener_;
  ConsoleRoutes routes_;
};

}  // namespace atl::test
