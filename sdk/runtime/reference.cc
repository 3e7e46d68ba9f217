#include "atoll/runtime/reference.h"

#include <algorithm>
#include <vector>

#include "atoll/core/moved_option.h"
#include "atoll/core/text.h"
#include "atoll/runtime/escape.h"
#include "atoll/runtime/option_table.h"

namespace atl::runtime {
namespace {

using Row = std::vector<std::string>;

std::string clean(const char* text) {
  std::string out;
  append_escaped(out, text == nullptr ? "" : text);
  return out;
}

std::string join(const std::vector<std::string>& parts) {
  std::string out;
  for (const auto& part : parts) out.append(out.empty() ? "" : ", ").append(part);
  return out.empty() ? "nothing" : out;
}

std::string provides_text(const atoll_plugin_v1_t& plugin) {
  std::vector<std::string> parts;
  for (const auto& provided : std::span(plugin.provides, plugin.provides_count)) {
    std::string part = cat(clean(provided.id), '.', provided.minor);
    parts.push_back(provided.rank == 0 ? part : cat(part, " (rank ", provided.rank, ")"));
  }
  return join(parts);
}

std::string needs_text(const atoll_plugin_v1_t& plugin) {
  std::vector<std::string> parts;
  for (const auto& need : std::span(plugin.needs, plugin.needs_count)) {
    const char* how = (need.flags & ATOLL_NEED_MANY) != 0       ? " (any number)"
                      : (need.flags & ATOLL_NEED_OPTIONAL) != 0 ? " (optional)"
                                                                : "";
    parts.push_back(cat(clean(need.id), '.', need.minor, how));
  }
  return join(parts);
}

std::string flags_text(uint32_t flags) {
  std::vector<std::string> parts;
  if ((flags & ATOLL_PLUGIN_RESIDENT) != 0) parts.push_back("resident");
  if ((flags & ATOLL_PLUGIN_SINGLETON) != 0) parts.push_back("singleton");
  if ((flags & ATOLL_PLUGIN_UNTRIED) != 0) parts.push_back("untried");
  return parts.empty() ? "" : join(parts);
}

Row option_row(const atoll_option_v1& option) {
  bool required = (option.flags & ATOLL_OPTION_REQUIRED) != 0;
  return {clean(option.key), std::string(option_type_name(option.type)),
          required ? "required" : clean(option.default_value), clean(range_text(option).c_str()),
          clean(option.help)};
}

/// Writes headings, facts and tables; the two formats differ in nothing else.
class Writer {
 public:
  explicit Writer(ReferenceFormat format) : markdown_(format == ReferenceFormat::kMarkdown) {}

  void heading(const std::string& text) {
    if (!out_.empty()) out_.push_back('\n');
    out_.append(markdown_ ? cat("## ", text, "\n\n") : cat(text, "\n"));
  }
  void sentence(const std::string& text) {
    if (!text.empty()) out_.append(markdown_ ? cat(text, "\n\n") : cat("  ", text, "\n"));
  }
  void fact(const std::string& name, const std::string& text) {
    if (!text.empty())
      out_.append(markdown_ ? cat("- ", name, ": ", text, "\n") : cat("  ", name, ": ", text, "\n"));
  }
  void options(std::span<const atoll_option_v1> options) {
    if (options.empty()) return;
    std::vector<Row> rows = {{"key", "type", "default", "range", "meaning"}};
    for (const auto& option : options) {
      if ((option.flags & ATOLL_OPTION_MOVED) == 0) rows.push_back(option_row(option));
    }
    if (markdown_) {
      if (!out_.ends_with("\n\n")) out_.push_back('\n');
      rows.insert(rows.begin() + 1, Row(5, "---"));
      for (const auto& row : rows) markdown_row(row);
    } else {
      text_rows(rows);
    }
  }
  std::string take() { return std::move(out_); }

 private:
  void markdown_row(const Row& row) {
    for (size_t i = 0; i < row.size(); ++i) {
      out_.append(i == 0 ? "| " : " | ");
      for (char c : row[i]) out_.append(c == '|' ? "\\|" : std::string(1, c));
    }
    out_.append(" |\n");
  }
  void text_rows(const std::vector<Row>& rows) {
    std::vector<size_t> widths(5);
    for (const auto& row : rows) {
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    for (const auto& row : rows) {
      out_.append("   ");
      for (size_t i = 0; i < row.size(); ++i) {
        out_.append(" ").append(row[i]);
        if (i + 1 < row.size()) out_.append(widths[i] - row[i].size() + 1, ' ');
      }
      out_.push_back('\n');
    }
  }

  bool markdown_;
  std::string out_;
};

}  // namespace

std::string render_reference(std::span<const OptionSection> sections,
                             std::span<const atoll_plugin_v1_t* const> plugins, ReferenceFormat format) {
  Writer writer(format);
  for (const auto& section : sections) {
    writer.heading(cat('[', section.name, ']'));
    writer.sentence(std::string(section.help));
    writer.options(section.options);
  }
  for (const auto* plugin : plugins) {
    writer.heading(cat(clean(plugin->name), ' ', clean(plugin->version)));
    writer.sentence(clean(plugin->help));
    writer.fact("provides", provides_text(*plugin));
    writer.fact("needs", needs_text(*plugin));
    writer.fact("flags", flags_text(plugin->flags));
    writer.fact("license", clean(plugin->license));
    writer.options({plugin->options, plugin->options_count});
  }
  return writer.take();
}

}  // namespace atl::runtime
