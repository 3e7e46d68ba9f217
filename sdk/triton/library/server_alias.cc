#include "server_alias.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <span>

#include "atoll/core/file_descriptor.h"
#include "atoll/runtime/shared_object.h"
#include "dynamic_names.h"

// An empty shared object that needs libtritonserver.so, and whose own name is long.
__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    ".globl atoll_triton_alias_begin\n"
    ".hidden atoll_triton_alias_begin\n"
    "atoll_triton_alias_begin:\n"
    ".incbin \"" ATOLL_ALIAS_TEMPLATE
    "\"\n"
    ".globl atoll_triton_alias_end\n"
    ".hidden atoll_triton_alias_end\n"
    "atoll_triton_alias_end:\n"
    ".byte 0\n"
    ".popsection\n");
extern "C" const char atoll_triton_alias_begin[];
extern "C" const char atoll_triton_alias_end[];

namespace atl::triton {
namespace {

constexpr std::string_view kName = "libtritonserver";

bool is_loaded(const std::string& name) {
  void* handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle != nullptr) ::dlclose(handle);
  return handle != nullptr;
}

Result<std::string> image_named(const std::string& name) {
  std::string image(atoll_triton_alias_begin, atoll_triton_alias_end);
  Result<DynamicNames> names = read_dynamic_names(std::span<const char>(image));
  if (!names.ok()) return std::move(names).status();
  if (name.size() > names->soname.size()) {
    return invalid_argument("library name '", name, "' has ", name.size(), " bytes; ", names->soname.size(),
                            " are the limit");
  }
  image.replace(names->soname_offset, names->soname.size(),
                name + std::string(names->soname.size() - name.size(), '\0'));
  return image;
}

Status write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0) return internal_error("cannot write to a memory file: ", std::strerror(errno));
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

}  // namespace

bool is_renamed_server(std::string_view library) noexcept {
  if (!library.starts_with(kName)) return false;
  library.remove_prefix(kName.size());
  return library.starts_with('-') && library.find(".so") != std::string_view::npos;
}

Status provide_server_name(const std::string& name) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (is_loaded(name)) return {};
  Result<std::string> image = image_named(name);
  if (!image.ok()) return std::move(image).status();
  FileDescriptor file(::memfd_create("libtritonserver-alias", MFD_CLOEXEC));
  if (!file.valid()) return internal_error("cannot make a memory file: ", std::strerror(errno));
  ATOLL_RETURN_IF_ERROR(write_all(file.get(), *image));
  Result<runtime::SharedObject> object = runtime::SharedObject::open(cat("/proc/self/fd/", file.get()));
  if (!object.ok()) return internal_error("library name '", name, "': ", object.status().text());
  // Whoever finds it by its name holds it; it is held here for those who come later, too.
  (void)::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  return {};
}

Status provide_server_names(const std::string& path) {
  Result<DynamicNames> names = read_dynamic_names(path);
  if (!names.ok()) return {};
  for (const std::string& library : names->needed) {
    if (is_renamed_server(library)) ATOLL_RETURN_IF_ERROR(provide_server_name(library));
  }
  return {};
}

}  // namespace atl::triton
