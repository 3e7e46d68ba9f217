#include "frontends/static_files/file_set.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "atoll/core/file_check.h"
#include "atoll/core/text.h"
#include "frontends/common/http/entity_tag.h"

namespace atl::frontends::static_files {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxFiles = 10'000;

constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
    {".css", "text/css; charset=utf-8"},
    {".gif", "image/gif"},
    {".htm", "text/html; charset=utf-8"},
    {".html", "text/html; charset=utf-8"},
    {".ico", "image/x-icon"},
    {".jpeg", "image/jpeg"},
    {".jpg", "image/jpeg"},
    {".js", "text/javascript; charset=utf-8"},
    {".json", "application/json"},
    {".map", "application/json"},
    {".md", "text/markdown; charset=utf-8"},
    {".mjs", "text/javascript; charset=utf-8"},
    {".pdf", "application/pdf"},
    {".png", "image/png"},
    {".svg", "image/svg+xml"},
    {".txt", "text/plain; charset=utf-8"},
    {".wasm", "application/wasm"},
    {".webp", "image/webp"},
    {".woff", "font/woff"},
    {".woff2", "font/woff2"},
    {".xml", "application/xml"},
};

std::string_view type_of(const fs::path& file) {
  const std::string extension = file.extension();
  for (const auto& [known, type] : kTypes) {
    if (known == extension) return type;
  }
  return "application/octet-stream";
}

Status unreadable(const fs::path& path, std::string_view why) {
  return invalid_argument("found '", path.native(), "', expected a file that can be read: ", why);
}

/// \param left_bytes  how large it may be
Result<std::string> content_of(const fs::path& path, uint64_t left_bytes) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return unreadable(path, std::strerror(errno));
  std::string content;
  char bytes[64 << 10];
  while (file.read(bytes, sizeof bytes) || file.gcount() > 0) {
    content.append(bytes, static_cast<size_t>(file.gcount()));
    if (content.size() > left_bytes) break;
  }
  if (file.bad()) return unreadable(path, "it could not be read to its end");
  return content;
}

}  // namespace

Result<FileSet> FileSet::read(const std::map<std::string, std::string>& folders, uint64_t limit_bytes) {
  FileSet made;
  uint64_t left_bytes = limit_bytes;
  for (const auto& [prefix, folder] : folders) {
    if (prefix.size() < 2 || prefix.front() != '/' || prefix.back() != '/')
      return invalid_argument("found the path '", prefix,
                              "', expected one that begins and ends with '/', as \"/chat/\"");
    ATOLL_RETURN_IF_ERROR(check_folder(folder));
    std::error_code error;
    fs::recursive_directory_iterator entry(folder, error), end;
    for (; !error && entry != end; entry.increment(error)) {
      const std::string name = entry->path().filename();
      if (name.starts_with('.')) {
        entry.disable_recursion_pending();
        continue;
      }
      if (!entry->is_regular_file(error) || entry->is_symlink(error)) continue;
      Result<std::string> content = content_of(entry->path(), left_bytes);
      if (!content.ok()) return std::move(content).status();
      if (content->size() > left_bytes || made.size() == kMaxFiles)
        return make_status(Code::kResourceExhausted, "the files are more than ", limit_bytes,
                           " bytes (option max_size) or ", kMaxFiles, " files; '", entry->path().native(),
                           "' is the first that is too much");
      left_bytes -= content->size();
      std::string path = cat(prefix, entry->path().lexically_relative(folder).native());
      std::string tag = entity_tag_of(*content);
      made.files_.insert_or_assign(std::move(path),
                                   StaticFile{std::move(content).value(), type_of(name), std::move(tag)});
    }
    if (error)
      return invalid_argument("found the folder '", folder, "', which cannot be listed: ", error.message());
  }
  return made;
}

const StaticFile* FileSet::find(std::string_view path) const {
  const auto found = path.ends_with('/') ? files_.find(cat(path, "index.html")) : files_.find(path);
  return found == files_.end() ? nullptr : &found->second;
}

}  // namespace atl::frontends::static_files
