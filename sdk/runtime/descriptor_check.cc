#include "atoll/runtime/descriptor_check.h"

#include <cstring>
#include <set>
#include <span>
#include <string>

#include "atoll/runtime/option_table.h"
#include "atoll/runtime/problems.h"

namespace atl::runtime {
namespace {

template <class... Parts>
Status refuse(const Parts&... parts) {
  return make_status(Code::kFailedPrecondition, parts...);
}

Status check_text(const char* text, std::string_view what) {
  if (text == nullptr) return refuse("its descriptor has no ", what);
  if (::strnlen(text, kTextBytesMax + 1) > kTextBytesMax) {
    return refuse("its descriptor's ", what, " is longer than ", kTextBytesMax, " bytes");
  }
  return {};
}

Status check_table(const void* table, uint32_t count, std::string_view what) {
  if (count > kTableRowsMax) {
    return refuse("its descriptor has ", count, " ", what, ", expected at most ", kTableRowsMax);
  }
  if (count > 0 && table == nullptr)
    return refuse("its descriptor has ", count, " ", what, " but no table of them");
  return {};
}

Status check_id(const char* id, std::string_view what, std::set<std::string>& seen) {
  ATOLL_RETURN_IF_ERROR(check_text(id, what));
  if (!is_interface_id(id)) return refuse(what, " '", id, "' is malformed, expected the form atoll.noun/1");
  if (!seen.insert(id).second) return refuse(what, " '", id, "' is listed twice");
  return {};
}

Status check_build_tag(std::string_view tag) {
  constexpr std::string_view kOwn = ATOLL_BUILD_TAG;
  constexpr size_t kBeforeLayout = kOwn.rfind(ATOLL_TAG_LAYOUT) + std::string_view(ATOLL_TAG_LAYOUT).size();
  if (tag == kOwn) return {};
  if (tag.starts_with(kOwn.substr(0, kBeforeLayout))) {
    return refuse("it was built with layout ", tag.substr(kBeforeLayout),
                  " of the SDK's structs, this server has layout ", kOwn.substr(kBeforeLayout),
                  ": build the plugin again with this server's SDK");
  }
  return refuse("its build tag is '", tag, "', this server's is '", kOwn,
                "': build the plugin with the compiler, its options and the SDK of this server");
}

Status check_versions(const atoll_plugin_v1_t& d, size_t size_bytes) {
  if (size_bytes != 0 && size_bytes < sizeof d) {
    return refuse("its descriptor has ", size_bytes, " bytes, expected at least ", sizeof d);
  }
  if (d.magic != ATOLL_PLUGIN_MAGIC)
    return refuse("its descriptor does not begin with the magic number of one");
  if (d.abi_major != ATOLL_ABI_MAJOR) {
    return refuse("its plugin ABI is ", d.abi_major, ", this server's is ", ATOLL_ABI_MAJOR,
                  ": build the plugin again with this server's SDK");
  }
  if (d.struct_size < sizeof d) {
    return refuse("its descriptor says ", d.struct_size, " bytes, expected at least ", sizeof d);
  }
  ATOLL_RETURN_IF_ERROR(check_text(d.build_tag, "build tag"));
  return check_build_tag(d.build_tag);
}

Status check_tables(const atoll_plugin_v1_t& d) {
  ATOLL_RETURN_IF_ERROR(check_table(d.provides, d.provides_count, "provided interfaces"));
  ATOLL_RETURN_IF_ERROR(check_table(d.needs, d.needs_count, "needs"));
  ATOLL_RETURN_IF_ERROR(check_table(d.options, d.options_count, "options"));
  std::set<std::string> provided;
  for (const auto& row : std::span(d.provides, d.provides_count)) {
    ATOLL_RETURN_IF_ERROR(check_id(row.id, "provided interface", provided));
    if ((row.flags & ~ATOLL_PROVIDED_ALONE) != 0)
      return refuse("provided interface '", row.id, "' has unknown flags ",
                    row.flags & ~ATOLL_PROVIDED_ALONE);
  }
  std::set<std::string> needed;
  for (const auto& row : std::span(d.needs, d.needs_count))
    ATOLL_RETURN_IF_ERROR(check_id(row.id, "need", needed));
  for (const auto& row : std::span(d.options, d.options_count)) {
    ATOLL_RETURN_IF_ERROR(check_text(row.key, "option key"));
  }
  Status options = check_option_table(std::span(d.options, d.options_count));
  return options.ok() ? Status() : refuse(prefix_lines("its option table is wrong: ", options.text()));
}

}  // namespace

bool is_interface_id(std::string_view id) {
  size_t slash = id.find('/');
  if (slash == std::string_view::npos || id.size() > 127) return false;
  char last = '.';
  for (char c : id.substr(0, slash)) {
    bool word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (!word && (c != '.' || last == '.')) return false;
    last = c;
  }
  std::string_view major = id.substr(slash + 1);
  if (last == '.' || major.empty() || major.size() > 9 || major[0] == '0') return false;
  return major.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_name(std::string_view text) {
  constexpr char kAllowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  return !text.empty() && text.size() <= kNameBytesMax && text != "." && text != ".." &&
         text.find_first_not_of(kAllowed) == std::string_view::npos;
}

bool is_plugin_name(std::string_view text) {
  size_t slash = text.find('/');
  return slash != std::string_view::npos && is_name(text.substr(0, slash)) && is_name(text.substr(slash + 1));
}

Status check_descriptor(const atoll_plugin_v1_t* descriptor, size_t size_bytes, std::string_view use) {
  const atoll_plugin_v1_t& d = *descriptor;
  ATOLL_RETURN_IF_ERROR(check_versions(d, size_bytes));
  ATOLL_RETURN_IF_ERROR(check_text(d.name, "name"));
  if (!is_plugin_name(d.name)) return refuse("its name is '", d.name, "', expected role/name");
  ATOLL_RETURN_IF_ERROR(check_text(d.version, "version"));
  ATOLL_RETURN_IF_ERROR(check_text(d.license, "license"));
  ATOLL_RETURN_IF_ERROR(check_text(d.help, "help"));
  if (!use.empty() && use != d.name)
    return refuse("the file holds plugin '", d.name, "', expected '", use, "'");
  if (d.create == nullptr || d.start == nullptr || d.drain == nullptr || d.stop == nullptr ||
      d.destroy == nullptr || d.query == nullptr || d.holding == nullptr) {
    return refuse(
        "its descriptor lacks a function; create, start, drain, stop, destroy, query and holding are needed");
  }
  constexpr uint32_t kKnown = ATOLL_PLUGIN_RESIDENT | ATOLL_PLUGIN_SINGLETON | ATOLL_PLUGIN_UNTRIED;
  if ((d.flags & ~kKnown) != 0) return refuse("its descriptor has unknown flags ", d.flags & ~kKnown);
  return check_tables(d);
}

}  // namespace atl::runtime
