/// SageMaker's calls of multi-model endpoints: models are loaded, listed and unloaded by the names that SageMaker gives them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/event_bus.h"
#include "atoll/core/executor.h"
#include "atoll/core/host.h"
#include "atoll/frontend/http_routes.h"
#include "frontends/sagemaker/hosted_model.h"

namespace atl::frontends::sagemaker {

/// An exchange that ends with this object, if it has not been answered before.
class OpenExchange {
 public:
  explicit OpenExchange(HttpExchange& exchange) noexcept : exchange_(&exchange) {}
  OpenExchange(const OpenExchange&) = delete;
  OpenExchange& operator=(const OpenExchange&) = delete;
  ~OpenExchange();

  void answer(int status, std::string json = {}) noexcept;
  /// By SageMaker's rules: 409 it is there already, 507 memory or disk is short, 400 anything else; and 403 the caller may not. The body says why.
  void fail(const Status& failure) noexcept;
  void fail(int status, std::string_view text) noexcept;
  /// Whether the caller may list, load and unload the model. Not after an answer.
  bool may_control(std::string_view model) const noexcept;

 private:
  HttpExchange* exchange_;  ///< null: answered
};

/// [any], unless said otherwise. An instance is kept by its exchanges until they are answered.
class HostedModels {
 public:
  /// \param host  outlives this object  \param root  below it lie the folders that SageMaker names
  HostedModels(Host& host, std::filesystem::path root) : host_(host), root_(std::move(root)) {}

  /// Learns what an instance before has loaded, soon. [control]
  Status open();
  /// [control]
  void close() noexcept;

  /// The model's name in the catalog; empty: SageMaker has not loaded it.
  std::string model_of(std::string_view name) const;

  /// Those that the caller may see; any other is as one that SageMaker has not loaded.
  void list(HttpExchange& exchange) const;
  void get(std::string_view name, HttpExchange& exchange) const;
  /// For a model that SageMaker has not loaded.
  static void refuse_unknown(std::string_view name, HttpExchange& exchange);
  /// The body names the model and its folder. Answers when the model serves, or cannot.
  void load(HttpExchange& exchange);
  /// Answers when the model's last request has been answered and its memory is free, or after 350 s: SageMaker waits for 360.
  void unload(const std::string& name, HttpExchange& exchange);

 private:
  using Exchange = std::shared_ptr<OpenExchange>;
  struct Keep {
    HostedModels& models;
    void operator()(const HostedModel& model) const { models.keep(model); }
  };
  struct Order {
    std::string name, model, url, repository;
    std::vector<std::string> members;  ///< folders of the repository that are models of an ensemble; sorted
  };

  void keep(const HostedModel& model);
  void forget(const std::string& name);
  /// \returns false if something is done to the model already
  bool begin(const std::string& name);
  void end(const std::string& name);
  void add_repository(Order order, Exchange exchange);
  /// Errors: PERMISSION_DENIED the caller may not load one of them; INVALID_ARGUMENT a member has the name of another model, and no
  /// namespace tells them apart.
  Status check_members(const Order& order, const OpenExchange& exchange);
  void loaded(const Order& order, const Status& status, const Exchange& exchange);
  /// Takes everything out of service that a load which failed has left.
  void unload_all(const Order& order);
  /// Calls `ended` on a worker when no version of the model and its members is being unloaded any more, or at the deadline.
  void await_end(const Order& order, int64_t deadline_ns, std::function<void()> ended);
  void remove_repository(const std::string& repository);
  bool is_unloading(const Order& order);
  template <class Work>
  void on_worker(Work work);

  Host& host_;
  const std::filesystem::path root_;
  mutable std::mutex mutex_;
  std::map<std::string, HostedModel, std::less<>> models_;
  std::set<std::string, std::less<>> busy_;  ///< they are being loaded or unloaded
  Subscription<HostedModel, Keep> news_{{*this}};
  SerialExecutorPtr waits_;  ///< looks whether a model has ended
};

}  // namespace atl::frontends::sagemaker
