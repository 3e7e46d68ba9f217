/// The JSON of answers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace atl::frontends::openai {

struct ListedModel {
  std::string id;
  int64_t created_s = 0;
};

/// \param tokens  of all texts
std::string embeddings_json(std::string_view model, std::span<const std::vector<float>> embeddings,
                            bool is_base64, uint64_t tokens);
std::string model_json(const ListedModel& model);
std::string models_json(std::span<const ListedModel> models);

}  // namespace atl::frontends::openai
