#include "model_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "atoll/core/file_descriptor.h"
#include "discovery.h"

namespace atl::serve {
namespace {

constexpr size_t kBytesMax = size_t{1} << 20;

}  // namespace

std::string text_of(const std::filesystem::path& file) {
  // What became something else meanwhile must not hold up.
  const FileDescriptor open(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!open.valid() || ::fstat(open.get(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  std::string text(kBytesMax, '\0');
  size_t size = 0;
  for (ssize_t count;
       size < kBytesMax && (count = ::read(open.get(), text.data() + size, kBytesMax - size)) > 0;)
    size += static_cast<size_t>(count);
  text.resize(size);
  return text;
}

bool is_openvino_text(std::string_view text) {
  // Past the byte order mark, declarations and comments.
  for (size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at + 1)) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("<!--")) {
      at = text.find("-->", at);
      if (at == std::string_view::npos) return false;
    } else if (!rest.starts_with("<?") && !rest.starts_with("<!")) {
      return rest.starts_with("<net") && rest.size() > 4 &&
             (rest[4] == ' ' || rest[4] == '\n' || rest[4] == '\t' || rest[4] == '>');
    }
  }
  return false;
}

bool defines_python_model(std::string_view text) {
  constexpr std::string_view kClass = "class", kName = "TritonPythonModel";
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    if (!line.starts_with(kClass)) continue;
    line.remove_prefix(kClass.size());
    const size_t gap = std::min(line.find_first_not_of(" \t"), line.size());
    if (gap == 0 || !line.substr(gap).starts_with(kName)) continue;
    line = line.substr(gap + kName.size());
    line = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.starts_with(':') || line.starts_with('(')) return true;
  }
  return false;
}

}  // namespace atl::serve
