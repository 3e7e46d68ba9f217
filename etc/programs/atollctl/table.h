/// Text in columns.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace atl::ctl {

enum class Format : uint8_t {
  kTable,      ///< for people: a header, and columns that are aligned
  kPorcelain,  ///< for scripts: no header, columns with a tab in between
  kJson        ///< as the server answers
};

class Table {
 public:
  explicit Table(std::vector<std::string> header) : header_(std::move(header)) {}
  /// As many texts as the header has.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// Control characters are escaped. \param format  not JSON
  void print(std::ostream& out, Format format) const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

/// What is shown of it in a terminal: nothing that the terminal would obey.
std::string escaped(const std::string& text);
/// "[######......]": as much of it as used is of all. \param width  characters between the brackets
std::string bar(uint64_t used, uint64_t all, size_t width);

}  // namespace atl::ctl
