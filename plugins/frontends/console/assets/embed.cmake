# cmake -DOUTPUT=FILE -DFILES=NAME=PATH|NAME=PATH... -P embed.cmake
#
# Writes a source file with the named files as texts, so that the plugin reads no file when it runs.
string(REPLACE "|" ";" pairs "${FILES}")
set(texts)
set(rows)
set(number 0)
foreach(pair ${pairs})
  string(REGEX MATCH "^([^=]+)=(.+)$" found "${pair}")
  set(name ${CMAKE_MATCH_1})
  # As numbers: a text of CMake loses some characters.
  file(READ ${CMAKE_MATCH_2} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND texts "constexpr unsigned char kFile${number}[] = {${bytes}0};\n")
  string(APPEND rows "    {\"${name}\", {reinterpret_cast<const char*>(kFile${number}), sizeof kFile${number} - 1}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT} "// Made by embed.cmake.
#include \"frontends/console/page_files.h\"

namespace atl::frontends::console {
namespace {
${texts}
const EmbeddedFile kFiles[] = {
${rows}};
}  // namespace

std::span<const EmbeddedFile> embedded_files() noexcept { return kFiles; }

}  // namespace atl::frontends::console
")
