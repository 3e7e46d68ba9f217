#include "frontends/sagemaker/hosted_models.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "atoll/core/guarded.h"
#include "atoll/core/registry.h"
#include "atoll/core/stop_executor.h"
#include "atoll/frontend/access.h"
#include "atoll/lib/checked_document.h"
#include "atoll/lib/header_values.h"
#include "atoll/lib/json_depth.h"
#include "atoll/lib/json_writer.h"
#include "atoll/models/model.h"
#include "atoll/models/model_control.h"
#include "atoll/models/model_identifier.h"
#include "atoll/models/repository_paths.h"
#include "frontends/sagemaker/model_folder.h"

namespace atl::frontends::sagemaker {
namespace {

/// SageMaker gives up after 360 s.
constexpr int64_t kUnloadNs = 350 * kNsPerSecond;
constexpr int64_t kLookAgainNs = 20 * kNsPerMs;
constexpr size_t kLevelsMax = 8;
constexpr std::string_view kTargetHeader = "x-amzn-sagemaker-target-model";

void write_model(CheckedWriter& writer, const HostedModel& model) {
  write_member(writer, "modelName", model.name.view());
  write_member(writer, "modelUrl", model.url.view());
}

/// What frameworks write when memory or disk is short. No code says it: it comes from deep inside them.
bool is_shortage(const Status& failure) noexcept {
  if (failure.code() == Code::kResourceExhausted) return true;
  const std::string_view text = failure.message();
  constexpr std::array<std::string_view, 8> kWords = {"out of memory",
                                                      "out_of_memory",
                                                      "outofmemory",
                                                      "memoryerror",
                                                      "failed to allocate memory",
                                                      "no space left on",
                                                      "bad_alloc",
                                                      "cannot allocate memory"};
  const auto is_letter = [](unsigned char c, char lower) { return std::tolower(c) == lower; };
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
    return std::search(text.begin(), text.end(), word.begin(), word.end(), is_letter) != text.end();
  });
}

std::string target_of(const HttpExchange& exchange) {
  const std::vector<std::string_view> values = header_values(exchange, kTargetHeader);
  return values.empty() ? std::string() : std::string(values.front());
}

/// Whether a model can have the name, and the path of a call can name it.
bool is_name(std::string_view text) noexcept {
  const auto is_wrong = [](unsigned char c) { return c < ' ' || c == 0x7F || c == '/' || c == '\\'; };
  return !text.empty() && text.size() < 256 && text != "." && text != ".." &&
         std::none_of(text.begin(), text.end(), is_wrong);
}

/// Whether a model of the name is served under an identifier, as the catalog's option `namespacing` has it.
bool is_in_namespace(const ModelCatalog& catalog, std::string_view name) {
  Result<std::vector<ModelStatistics>> found = catalog.statistics(name, ModelCatalog::kLatest);
  return found.ok() && std::any_of(found->begin(), found->end(),
                                   [](const ModelStatistics& one) { return is_model_identifier(one.name); });
}

/// Sorted.
std::vector<std::string> members_in(const ModelFolder& folder) {
  std::error_code ignored;
  std::vector<std::string> names = folders_in(folder.repository, ignored);
  std::erase(names, folder.directory);
  return names;
}

/// Errors: INVALID_ARGUMENT it is missing, no text, empty, or too long to be kept.
Result<std::string> text_member(const CheckedDocument& document, const char* name, size_t most) {
  const auto found = document.FindMember(name);
  if (found == document.MemberEnd() || !found->value.IsString() || found->value.GetStringLength() == 0)
    return invalid_argument("the request has no text '", name, "'");
  if (found->value.GetStringLength() >= most)
    return invalid_argument("'", name, "' has ", found->value.GetStringLength(),
                            " bytes, expected fewer than ", most);
  return std::string(found->value.GetString(), found->value.GetStringLength());
}

Status parse(std::string_view body, CheckedDocument& document) {
  if (is_json_deeper_than(body, kLevelsMax))
    return invalid_argument("the request has too many levels of JSON");
  document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(body.data(),
                                                                                         body.size());
  if (document.HasParseError() || !document.IsObject())
    return invalid_argument("the request is no JSON object");
  return {};
}

bool may_control(const HttpExchange& exchange, std::string_view model) noexcept {
  constexpr ApiCategory kCategory = ApiCategory::kModelRepository;
  const Identity* const caller = exchange.identity();
  return caller == nullptr || caller->may(kCategory, api_category_name(kCategory), model);
}

Status may_not_load(std::string_view model) noexcept {
  return make_status(Code::kPermissionDenied, "the caller may not load the model '", model, "'");
}

}  // namespace

OpenExchange::~OpenExchange() {
  if (exchange_ != nullptr) fail(503, "Server exiting");
}

void OpenExchange::answer(int status, std::string json) noexcept {
  const std::string_view type = json.empty() ? "" : "application/json";
  std::exchange(exchange_, nullptr)->answer({.status = status, .content_type = type}, std::move(json));
}

void OpenExchange::fail(int status, std::string_view text) noexcept {
  std::string json;
  (void)guarded("the text of an error", [&]() -> Status {
    json = object_json([&](auto& writer) { write_member(writer, "error", text); });
    return {};
  });
  answer(status, std::move(json));
}

void OpenExchange::fail(const Status& failure) noexcept {
  const int status = failure.code() == Code::kAlreadyExists      ? 409
                     : failure.code() == Code::kPermissionDenied ? 403
                     : is_shortage(failure)                      ? 507
                                                                 : 400;
  fail(status, failure.message());
}

bool OpenExchange::may_control(std::string_view model) const noexcept {
  return atl::frontends::sagemaker::may_control(*exchange_, model);
}

template <class Work>
void HostedModels::on_worker(Work work) {
  host_.workers().run(make_task(std::move(work)));
}

Status HostedModels::open() {
  Result<SerialExecutorPtr> made = host_.executors().create("sagemaker", {});
  if (!made.ok()) return std::move(made).status();
  waits_ = std::move(made).value();
  return news_.open(host_.events());
}

void HostedModels::close() noexcept {
  news_.reset();
  stop_executor(waits_);
}

std::string HostedModels::model_of(std::string_view name) const {
  std::lock_guard lock(mutex_);
  auto found = models_.find(name);
  return found == models_.end() ? std::string() : std::string(found->second.model.view());
}

void HostedModels::keep(const HostedModel& model) {
  std::lock_guard lock(mutex_);
  models_.emplace(model.name.view(), model);
}

void HostedModels::forget(const std::string& name) {
  host_.events().forget(HostedModel::kEventId, name);
  std::lock_guard lock(mutex_);
  models_.erase(name);
}

bool HostedModels::begin(const std::string& name) {
  std::lock_guard lock(mutex_);
  return busy_.insert(name).second;
}

void HostedModels::end(const std::string& name) {
  std::lock_guard lock(mutex_);
  busy_.erase(name);
}

void HostedModels::list(HttpExchange& exchange) const {
  std::vector<HostedModel> all;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [name, model] : models_) {
      if (may_control(exchange, model.model.view())) all.push_back(model);
    }
  }
  OpenExchange(exchange).answer(200, object_json([&](auto& writer) {
                                  write_array(writer, "models", all, [&](const HostedModel& model) {
                                    write_object(writer, [&] { write_model(writer, model); });
                                  });
                                }));
}

void HostedModels::get(std::string_view name, HttpExchange& exchange) const {
  std::unique_lock lock(mutex_);
  auto found = models_.find(name);
  if (found == models_.end() || !may_control(exchange, found->second.model.view())) {
    lock.unlock();
    return refuse_unknown(name, exchange);
  }
  std::string text = object_json([&](auto& writer) { write_model(writer, found->second); });
  lock.unlock();
  OpenExchange(exchange).answer(200, std::move(text));
}

void HostedModels::refuse_unknown(std::string_view name, HttpExchange& exchange) {
  OpenExchange(exchange).fail(404, cat("model '", name, "' is not loaded"));
}

void HostedModels::load(HttpExchange& exchange) {
  auto open = std::make_shared<OpenExchange>(exchange);
  const auto body = exchange.body();
  CheckedDocument document;
  if (Status status = parse({reinterpret_cast<const char*>(body.data()), body.size()}, document);
      !status.ok())
    return open->fail(status);
  Result<std::string> name = text_member(document, "model_name", 256);
  if (!name.ok()) return open->fail(name.status());
  Result<std::string> url = text_member(document, "url", 1024);
  if (!url.ok()) return open->fail(url.status());
  if (!is_name(*name)) return open->fail(400, "'model_name' has a slash or a control character");
  Order order{std::move(name).value(), target_of(exchange), std::move(url).value(), {}, {}};
  // The target is a key of S3, and may lie in folders there.
  if (!is_name(order.model)) order.model = order.name;
  if (!open->may_control(order.model)) return open->fail(may_not_load(order.model));
  if (!model_of(order.name).empty())
    return open->fail(409, cat("model '", order.name, "' is loaded already"));
  if (!begin(order.name)) return open->fail(409, cat("model '", order.name, "' is being loaded or unloaded"));
  on_worker([this, order = std::move(order), open = std::move(open)]() mutable {
    add_repository(std::move(order), std::move(open));
  });
}

void HostedModels::add_repository(Order order, Exchange exchange) {
  Status failure;
  Result<ModelFolder> folder = find_model_folder(order.url, root_);
  Result<Service<RepositoryPaths>> paths = host_.registry().find<RepositoryPaths>();
  Result<Service<ModelControl>> control = host_.registry().find<ModelControl>();
  if (!folder.ok()) {
    failure = std::move(folder).status();
  } else if (!paths.ok()) {
    failure = std::move(paths).status();
  } else if (!control.ok()) {
    failure = std::move(control).status();
  } else {
    order.repository = folder->repository.string();
    order.members = members_in(*folder);
    const NamedDirectory named{folder->directory, order.model};
    failure = order.repository.size() >= 1024
                  ? invalid_argument("url '", order.url, "' leads to a path that is too long")
                  : check_members(order, *exchange);
    if (failure.ok()) failure = (*paths)->add(order.repository, {&named, 1});
  }
  if (!failure.ok()) {
    end(order.name);
    return exchange->fail(failure);
  }
  const std::string model = order.model;
  (*control)->load(model, {},
                   [this, order = std::move(order), exchange = std::move(exchange)](Status status) {
                     loaded(order, status, exchange);
                   });
}

void HostedModels::loaded(const Order& order, const Status& status, const Exchange& exchange) {
  if (status.ok()) {
    const HostedModel model{order.name, order.model, order.url, order.repository};
    keep(model);
    host_.events().publish(model);
    end(order.name);
    return exchange->answer(200);
  }
  // The files are SageMaker's, which deletes them: nothing of a load that failed stays. When it is answered, the memory of
  // members that could be loaded is free.
  on_worker([this, order, exchange, failure = std::make_shared<Status>(status.clone())] {
    unload_all(order);
    await_end(order, host_.clock().now_ns() + kUnloadNs, [this, order, exchange, failure] {
      remove_repository(order.repository);
      end(order.name);
      exchange->fail(*failure);
    });
  });
}

Status HostedModels::check_members(const Order& order, const OpenExchange& exchange) {
  const auto denied = std::ranges::find_if(
      order.members, [&](const std::string& member) { return !exchange.may_control(member); });
  if (denied != order.members.end()) return may_not_load(*denied);
  Result<Service<ModelCatalog>> catalog = host_.registry().find<ModelCatalog>();
  if (!catalog.ok() || order.members.empty()) return {};
  Result<std::vector<ModelIndexEntry>> index = (*catalog)->index(/*ready_only=*/false);
  if (!index.ok()) return index.status().clone();
  for (const ModelIndexEntry& entry : *index) {
    if (entry.state.empty() || entry.state == "UNAVAILABLE") continue;
    if (std::binary_search(order.members.begin(), order.members.end(), entry.name) &&
        !is_in_namespace(**catalog, entry.name)) {
      return invalid_argument(
          "url '", order.url, "' has a member '", entry.name,
          "', and a model of this name is loaded: set namespacing = true for [plugin.models] and "
          "[plugin.repository], or --model-namespacing=true");
    }
  }
  return {};
}

void HostedModels::unload_all(const Order& order) {
  Result<Service<ModelControl>> control = host_.registry().find<ModelControl>();
  Result<Service<ModelCatalog>> catalog = host_.registry().find<ModelCatalog>();
  if (!control.ok() || !catalog.ok()) return;
  const auto unload = [&](std::string model) {
    (*control)->unload(std::move(model), {}, [](const Status&) {});
  };
  unload(order.model);
  for (const std::string& member : order.members) {
    unload(model_identifier_of(order.repository, member));
    // Another archive may have a member of this name only where namespaces tell them apart.
    if (!is_in_namespace(**catalog, member)) unload(member);
  }
}

void HostedModels::remove_repository(const std::string& repository) {
  Result<Service<RepositoryPaths>> paths = host_.registry().find<RepositoryPaths>();
  Status status = paths.ok() ? (*paths)->remove(repository) : std::move(paths).status();
  if (!status.ok())
    host_.log().warning("repository '", repository,
                        "' of a model that SageMaker unloads: ", status.message());
}

void HostedModels::unload(const std::string& name, HttpExchange& exchange) {
  auto open = std::make_shared<OpenExchange>(exchange);
  Order order;
  order.name = name;
  {
    std::lock_guard lock(mutex_);
    auto found = models_.find(name);
    if (found != models_.end()) {
      order.model = found->second.model.view();
      order.repository = found->second.repository.view();
    }
  }
  if (order.model.empty() || !open->may_control(order.model))
    return open->fail(404, cat("model '", name, "' is not loaded"));
  if (!begin(name)) return open->fail(409, cat("model '", name, "' is being loaded or unloaded"));
  Result<Service<ModelControl>> control = host_.registry().find<ModelControl>();
  if (!control.ok()) {
    end(name);
    return open->fail(control.status());
  }
  ModelControlParameter members;
  members.key = "unload_dependents";
  members.type = ParameterType::kBool;
  members.bool_value = true;
  const std::string model = order.model;
  (*control)->unload(model, {members},
                     [this, order = std::move(order), open = std::move(open)](Status status) {
                       if (!status.ok()) {
                         end(order.name);
                         return open->fail(status);
                       }
                       on_worker([this, order, open]() mutable {
                         std::error_code ignored;
                         order.members = folders_in(order.repository, ignored);
                         await_end(order, host_.clock().now_ns() + kUnloadNs, [this, order, open] {
                           remove_repository(order.repository);
                           forget(order.name);
                           end(order.name);
                           open->answer(200);
                         });
                       });
                     });
}

bool HostedModels::is_unloading(const Order& order) {
  Result<Service<ModelCatalog>> catalog = host_.registry().find<ModelCatalog>();
  if (!catalog.ok()) return false;
  Result<std::vector<ModelIndexEntry>> index = (*catalog)->index(/*ready_only=*/false);
  return index.ok() && std::any_of(index->begin(), index->end(), [&](const ModelIndexEntry& entry) {
           return entry.state == "UNLOADING" &&
                  (entry.name == order.model ||
                   std::binary_search(order.members.begin(), order.members.end(), entry.name));
         });
}

void HostedModels::await_end(const Order& order, int64_t deadline_ns, std::function<void()> ended) {
  on_worker([this, order, deadline_ns, ended = std::move(ended)]() mutable {
    const bool is_open = is_unloading(order);
    const int64_t now_ns = host_.clock().now_ns();
    if (is_open && now_ns < deadline_ns) {
      waits_->post_at(now_ns + kLookAgainNs,
                      make_task([this, order, deadline_ns, ended = std::move(ended)]() mutable {
                        await_end(order, deadline_ns, std::move(ended));
                      }));
      return;
    }
    if (is_open)
      host_.log().warning("model '", order.model,
                          "' still answers requests; SageMaker is told that it is unloaded");
    ended();
  });
}

}  // namespace atl::frontends::sagemaker
