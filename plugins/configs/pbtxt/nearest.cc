#include "configs/pbtxt/nearest.h"

#include <algorithm>
#include <cctype>

namespace atl::pbtxt {

namespace {

constexpr size_t kNameBytesMax = 80;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replace = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({replace, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

size_t common_start(const std::string& a, const std::string& b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

/// The only candidate that begins with "<wanted>_" or ends with "_<wanted>".
std::optional<std::string> only_extension(const std::string& wanted,
                                          const std::vector<std::string>& candidates) {
  std::optional<std::string> found;
  for (const std::string& candidate : candidates) {
    std::string known = lower(candidate);
    if (!known.starts_with(wanted + "_") && !known.ends_with("_" + wanted)) continue;
    if (found) return std::nullopt;
    found = candidate;
  }
  return found;
}

std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words;
  for (size_t from = 0; from <= name.size();) {
    const size_t end = std::min(name.find('_', from), name.size());
    if (end > from) words.push_back(name.substr(from, end - from));
    from = end + 1;
  }
  return words;
}

/// Whether every word begins one of the candidate's, in any order, and one alone the first of them; a plural
/// is as good as its singular.
bool has_words(const std::vector<std::string>& wanted, const std::string& candidate) {
  std::vector<std::string> known = words_of(candidate);
  if (wanted.size() == 1) known.resize(1);
  return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& word) {
    const bool plural = word.size() > 3 && word.back() == 's';
    const std::string_view stem = std::string_view(word).substr(0, word.size() - (plural ? 1 : 0));
    return std::any_of(known.begin(), known.end(),
                       [&](const std::string& other) { return other.starts_with(stem); });
  });
}

/// The only candidate that has all the words.
std::optional<std::string> only_with_words(const std::string& wanted,
                                           const std::vector<std::string>& candidates) {
  const std::vector<std::string> words = words_of(wanted);
  std::optional<std::string> found;
  for (const std::string& candidate : candidates) {
    if (words.empty() || !has_words(words, lower(candidate))) continue;
    if (found) return std::nullopt;
    found = candidate;
  }
  return found;
}

}  // namespace

std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& candidates) {
  if (name.size() > kNameBytesMax) return std::nullopt;
  std::string wanted = lower(name);
  size_t best = std::max<size_t>(1, wanted.size() / 3) + 1;
  size_t best_start = 0;
  std::optional<std::string> found;
  for (const std::string& candidate : candidates) {
    const std::string known = lower(candidate);
    const size_t changes = distance(wanted, known);
    const size_t start = common_start(wanted, known);
    // Of several that are as near, the one that begins alike: TYPE_FP32 for TYPE_FLOAT32, not TYPE_UINT32.
    if (changes > best || (changes == best && (!found || start <= best_start))) continue;
    best = changes;
    best_start = start;
    found = candidate;
  }
  if (!found) found = only_extension(wanted, candidates);
  return found ? found : only_with_words(wanted, candidates);
}

}  // namespace atl::pbtxt
