#include "flag_table.h"

#include <algorithm>

#include "values.h"

namespace atl::tritonserver {
namespace {

constexpr std::string_view kTitles[kGroupCount] = {"Server",
                                                   "Logging",
                                                   "Model Repository",
                                                   "HTTP",
                                                   "GRPC",
                                                   "Sagemaker",
                                                   "Vertex",
                                                   "Metrics",
                                                   "Tracing",
                                                   "Backend",
                                                   "Repository Agent",
                                                   "Response Cache",
                                                   "Rate Limiter",
                                                   "Memory/Device Management",
                                                   "Shared Memory",
                                                   "DEPRECATED"};

std::string help_of(const Flag& flag) {
  std::string text(flag.help);
  switch (flag.effect.kind) {
    case FlagEffect::Kind::kNothing:
      return cat(text, " No effect: ", flag.effect.why, ".");
    case FlagEffect::Kind::kRefused:
      return cat(text, " Not served: ", flag.effect.why, ".");
    case FlagEffect::Kind::kMustBeOff:
      return cat(text, " Only false is served: ", flag.effect.why, ".");
    default:
      return flag.effect.key.empty() ? text : cat(text, " Manifest: ", flag.effect.key, ".");
  }
}

/// The words of a text in lines, each behind a tab.
std::string wrapped(std::string_view text) {
  constexpr size_t kWidth = 88;
  std::string out;
  std::string line;
  for (std::string_view word : split(text, ' ')) {
    if (!line.empty() && line.size() + 1 + word.size() > kWidth) {
      out += cat("\t", line, "\n");
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  return cat(out, "\t", line, "\n");
}

}  // namespace

const std::vector<Flag>& flag_table() {
  static const std::vector<Flag> table = [] {
    std::vector<Flag> all;
    for (auto part : {server_flags(), frontend_flags(), tracing_flags(), backend_flags()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    std::stable_sort(all.begin(), all.end(), [](const Flag& a, const Flag& b) { return a.group < b.group; });
    return all;
  }();
  return table;
}

std::string usage() {
  std::string out =
      "Usage: tritonserver [options]\n"
      "Starts Atoll as these options of Triton say; \"Manifest\" names the keys that one sets.\n"
      "  --help\n\tPrint this and exit.\n"
      "  --version\n\tPrint which build this is, and exit. Triton has no such option.\n";
  const Flag* previous = nullptr;
  for (const Flag& flag : flag_table()) {
    if (previous == nullptr || previous->group != flag.group) {
      out += cat("\n", kTitles[static_cast<uint32_t>(flag.group)], ":\n");
    }
    previous = &flag;
    out += cat("  --", flag.name, flag.value.empty() ? "" : " ", flag.value, "\n", wrapped(help_of(flag)));
  }
  return out;
}

}  // namespace atl::tritonserver
