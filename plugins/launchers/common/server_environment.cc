#include "launchers/common/server_environment.h"

#include <unistd.h>

#include <string_view>

#include "atoll/lib/program_start.h"

namespace atl::launchers {
namespace {

std::string linked_paths(const std::vector<std::string>& sources) {
  std::string list;
  for (const std::string& source : sources) {
    list += list.empty() ? "\"" : ", \"";
    for (char c : source) list += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    list += '"';
  }
  return cat("ATOLL__PLUGIN__REPOSITORY__LINKED_PATHS=[", list, "]");
}

}  // namespace

std::vector<std::string> server_environment(const ServerSpec& server, const InstanceCommand& runtime,
                                            bool shared_memory) {
  std::vector<std::string> variables;
  if (!server.sources.empty()) variables.push_back(linked_paths(server.sources));
  variables.emplace_back("ATOLL__PLUGIN__CONTROL__ALLOW_FILE_OVERRIDE=false");
  if (server.key.empty() || runtime.has_place("key")) return variables;
  const std::string closed = cat("=[\"", kClosedCategories, shared_memory ? "" : ",shared-memory", ":",
                                 kServerKeyHeader, "=", server.key, "\"]");
  variables.emplace_back("ATOLL__PLUGIN__KEYS__USE=security/keys");
  variables.push_back("ATOLL__PLUGIN__KEYS__RESTRICTED_APIS" + closed);
  variables.push_back("ATOLL__PLUGIN__KEYS__RESTRICTED_PROTOCOLS" + closed);
  return variables;
}

std::vector<char*> with_own_environment(const std::vector<std::string>& added) {
  std::vector<char*> all = pointers_of(added);
  all.pop_back();
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("ATOLL__")) all.push_back(*variable);
  }
  all.push_back(nullptr);
  return all;
}

}  // namespace atl::launchers
