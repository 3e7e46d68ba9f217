/// The backend over the tiny model and the real engine.
#pragma once

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "atoll/proto/model_description.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/temporary_directory.h"
#include "backends/llamacpp/llama_backend.h"
#include "backends/llamacpp/testing/tiny_gguf.h"
#include "model_config.pb.h"

namespace atl::llamacpp::test {

inline constexpr const char* kTinyTemplate =
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}";

inline std::shared_ptr<LlamaBackend> make_backend(Host& host, bool tries_files = true) {
  auto backend = std::make_shared<LlamaBackend>(host);
  backend->set({.engine_folders = {ATOLL_LLAMACPP_ENGINE},
                .threads = 1,
                .tries_files = tries_files,
                .trial_timeout_ns = 60 * kNsPerSecond,
                .trial_memory_bytes = uint64_t{4} << 30});
  return backend;
}

/// What the catalog hands over. \param config  text of config.pbtxt; empty: there is none
inline ModelSource source_of(const std::filesystem::path& folder, const std::string& config) {
  inference::ModelConfig message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(config, &message)) << config;
  message.set_name(folder.filename().string());
  message.set_backend("llamacpp");
  ModelSource source;
  source.name = message.name();
  source.version = 1;
  source.model_directory = folder.string();
  source.version_directory = (folder / "1").string();
  source.config = message.SerializeAsString();
  source.model = proto::describe_model(message);
  return source;
}

/// The same with the configuration completed.
inline ModelSource completed(LlamaBackend& backend, ModelSource source) {
  Result<std::string> config = backend.complete_config(source);
  EXPECT_TRUE(config.ok()) << config.status().text();
  inference::ModelConfig message;
  if (config.ok()) message.ParseFromString(*config);
  source.config = message.SerializeAsString();
  source.model = proto::describe_model(message);
  return source;
}

/// A folder of a model with the tiny file.
inline std::filesystem::path add_tiny(const std::filesystem::path& models, const std::string& name,
                                      const std::string& file = "model.gguf") {
  std::filesystem::create_directories(models / name / "1");
  write_tiny_gguf(models / name / "1" / file, kTinyTemplate);
  return models / name;
}

}  // namespace atl::llamacpp::test
