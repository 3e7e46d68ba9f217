# cmake -DOUTPUT=FILE -DGZIP=PROGRAM -DNAMESPACE=NAME -DFILES=NAME=PATH|NAME=PATH... -P embed_files.cmake
#
# Writes a source file with the named files, as they are and compressed, so that a plugin reads and compresses no file when it
# runs. atoll_embed_files() of AtollEmbed.cmake calls it.
string(REPLACE "|" ";" pairs "${FILES}")
set(texts)
set(rows)
set(number 0)
foreach(pair ${pairs})
  string(REGEX MATCH "^([^=]+)=(.+)$" found "${pair}")
  set(name ${CMAKE_MATCH_1})
  set(path ${CMAKE_MATCH_2})
  # As numbers: a text of CMake loses some characters.
  file(READ ${path} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  # Without the time of its making: the same files make the same plugin.
  execute_process(COMMAND ${GZIP} -9nc INPUT_FILE ${path} OUTPUT_FILE ${OUTPUT}.gz COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${OUTPUT}.gz packed HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," packed "${packed}")
  string(APPEND texts "constexpr unsigned char kFile${number}[] = {${bytes}0};\n"
         "constexpr unsigned char kPacked${number}[] = {${packed}};\n")
  string(APPEND rows "    {\"${name}\", {reinterpret_cast<const char*>(kFile${number}), sizeof kFile${number} - 1},\n"
         "     {reinterpret_cast<const char*>(kPacked${number}), sizeof kPacked${number}}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT} "// Made by embed_files.cmake.
#include \"atoll/frontend/console_page.h\"

namespace ${NAMESPACE} {
namespace {
${texts}
const atl::ConsoleFile kFiles[] = {
${rows}};
}  // namespace

std::span<const atl::ConsoleFile> embedded_files() noexcept;
std::span<const atl::ConsoleFile> embedded_files() noexcept { return kFiles; }

}  // namespace ${NAMESPACE}
")
