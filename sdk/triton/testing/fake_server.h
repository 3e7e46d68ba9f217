/// A server over a catalog of identity models, for tests of what programs call.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "atoll/testing/fake_catalog.h"
#include "atoll/triton/server.h"

namespace atl::triton::test {

/// Answers questions with a text that names them, or with `failure`. Calls that change something are noted.
struct FakeServer final : TRITONSERVER_Server {
  virtual ~FakeServer() = default;

  Result<ModelRef> acquire(std::string_view model, int64_t version) noexcept override {
    return catalog.acquire(model, version);
  }
  bool is_live() noexcept override { return catalog.live(); }
  bool is_ready() noexcept override { return catalog.ready(); }
  Result<bool> is_model_ready(std::string_view model, int64_t version) noexcept override {
    auto found = catalog.acquire(model, version);
    if (!found.ok()) return std::move(found).status();
    return (*found)->ready();
  }
  Gate* requests_in_flight() noexcept override { return in_flight; }
  Result<std::string> metadata() noexcept override { return answer("metadata"); }
  Result<std::string> model_metadata(std::string_view model, int64_t version) noexcept override {
    return answer(cat("metadata of ", model, " ", version));
  }
  Result<std::string> model_config(std::string_view model, int64_t version) noexcept override {
    return answer(cat("config of ", model, " ", version));
  }
  Result<std::string> statistics(std::string_view model, int64_t version) noexcept override {
    return answer(cat("statistics of ", model, " ", version));
  }
  Result<std::string> index(bool ready_only) noexcept override {
    return answer(ready_only ? "ready index" : "index");
  }
  Status load(std::string_view model, const std::string* config,
              std::vector<RepositoryFile> files) noexcept override {
    std::string call = cat("load ", model);
    if (config != nullptr) call += cat(" config=", *config);
    for (const RepositoryFile& file : files) call += cat(" ", file.path, "=", file.content);
    return note(std::move(call));
  }
  Status unload(std::string_view model, bool with_dependents) noexcept override {
    return note(cat("unload ", model, with_dependents ? " with dependents" : ""));
  }
  Status poll() noexcept override { return note("poll"); }
  Status register_repository(std::string_view path,
                             std::span<const std::pair<std::string, std::string>> names) noexcept override {
    std::string call = cat("register ", path);
    for (const auto& [directory, name] : names) call += cat(" ", directory, "=", name);
    return note(std::move(call));
  }
  Status unregister_repository(std::string_view path) noexcept override {
    return note(cat("unregister ", path));
  }
  Result<std::string> metrics() noexcept override { return answer("metrics"); }

  Gate* in_flight = nullptr;  ///< what requests_in_flight() gives
  atl::test::FakeModelCatalog catalog;
  Status failure;
  std::vector<std::string> calls;

 private:
  Result<std::string> answer(std::string text) {
    if (!failure.ok()) return failure.clone();
    return text;
  }
  Status note(std::string call) {
    calls.push_back(std::move(call));
    return failure.clone();
  }
};

}  // namespace atl::triton::test
