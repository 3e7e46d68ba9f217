// A repository agent in C++: a model whose files are not to be read by whoever can read the repository. Those that end
// in ".xor" are decoded into a folder that the server gives, beside copies of the others, and the server reads the
// model there.
//
//     model_repository_agents { agents { name: "decode" parameters { key: "key" value: "a secret" } } }
//
// Exclusive-or with a text stands for a cipher.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "triton/core/tritonrepoagent.h"

namespace {

namespace fs = std::filesystem;

/// Failures as exceptions inside, as errors outside.
void check(TRITONSERVER_Error* error) {
  if (error == nullptr) return;
  const std::string text = TRITONSERVER_ErrorMessage(error);
  TRITONSERVER_ErrorDelete(error);
  throw std::runtime_error(text);
}

std::string parameter(TRITONREPOAGENT_Agent* agent, TRITONREPOAGENT_AgentModel* model,
                      const std::string& wanted) {
  uint32_t count = 0;
  check(TRITONREPOAGENT_ModelParameterCount(agent, model, &count));
  for (uint32_t i = 0; i < count; ++i) {
    const char *name = nullptr, *value = nullptr;
    check(TRITONREPOAGENT_ModelParameter(agent, model, i, &name, &value));
    if (name == wanted && *value != '\0') return value;
  }
  throw std::runtime_error("the parameter '" + wanted + "' is missing");
}

void decode(const fs::path& from, const fs::path& to, const std::string& key) {
  std::ifstream in(from, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(bytes[i] ^ key[i % key.size()]);
  std::ofstream out(to, std::ios::binary);
  out << bytes;
  if (in.bad() || !out.flush())
    throw std::runtime_error("unable to decode '" + from.filename().string() + "'");
}

void load(TRITONREPOAGENT_Agent* agent, TRITONREPOAGENT_AgentModel* model) {
  const auto kind = TRITONREPOAGENT_ARTIFACT_FILESYSTEM;
  TRITONREPOAGENT_ArtifactType type;
  const char *from = nullptr, *to = nullptr;
  const std::string key = parameter(agent, model, "key");
  check(TRITONREPOAGENT_ModelRepositoryLocation(agent, model, &type, &from));
  check(TRITONREPOAGENT_ModelRepositoryLocationAcquire(agent, model, kind, &to));
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    fs::path target = to / entry.path().lexically_relative(from);
    if (entry.is_directory()) {
      fs::create_directory(target);
    } else if (target.extension() == ".xor") {
      decode(entry.path(), target.replace_extension(), key);
    } else if (!fs::exists(target)) {
      fs::copy_file(entry.path(), target);
    }
  }
  check(TRITONREPOAGENT_ModelRepositoryUpdate(agent, model, kind, to));
}

}  // namespace

extern "C" TRITONSERVER_Error* TRITONREPOAGENT_ModelAction(TRITONREPOAGENT_Agent* agent,
                                                           TRITONREPOAGENT_AgentModel* model,
                                                           const TRITONREPOAGENT_ActionType action_type) {
  if (action_type != TRITONREPOAGENT_ACTION_LOAD) return nullptr;
  try {
    load(agent, model);
    return nullptr;
  } catch (const std::exception& exception) {
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, exception.what());
  }
}
