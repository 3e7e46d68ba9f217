#include "backends/cuda/code/code_file.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "backends/cuda/testing/version_folder.h"

namespace atl::cuda_backend {
namespace {

std::string elf_file() {
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = 190;
  header.e_shoff = sizeof header;
  header.e_shnum = 2;
  header.e_shentsize = sizeof(Elf64_Shdr);
  Elf64_Shdr sections[2] = {};
  sections[0].sh_type = SHT_NOBITS;
  sections[0].sh_size = 1 << 20;
  sections[1].sh_type = SHT_PROGBITS;
  sections[1].sh_offset = sizeof header + sizeof sections;
  sections[1].sh_size = 16;
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes.append(reinterpret_cast<const char*>(sections), sizeof sections);
  return bytes + std::string(16, 'x');
}

std::string fat_file(uint64_t content) {
  std::string bytes("\x50\xed\x55\xba\x01\x00\x10\x00", 8);
  bytes.append(reinterpret_cast<const char*>(&content), sizeof content);
  return bytes + std::string(32, 'x');
}

class CodeFiles : public testing::Test {
 protected:
  std::string chosen(int32_t capability, const CodeNames& names = {}) {
    const Result<std::string> name = choose_code(folder_.path(), names, capability);
    return name.ok() ? name.value() : std::string(code_name(name.status().code()));
  }
  Status read(const std::string& name, std::string_view bytes) {
    folder_.write(name, bytes);
    Result<CodeFile> file = read_code(folder_.path(), name);
    if (!file.ok()) return std::move(file).status();
    kind_ = file->kind;
    return {};
  }

  test::VersionFolder folder_;
  CodeKind kind_ = CodeKind::kSource;
};

TEST_F(CodeFiles, AreChosenByWhatFitsBest) {
  const Result<std::string> none = choose_code(folder_.path(), {}, 86);
  EXPECT_EQ(none.status().code(), Code::kNotFound);
  EXPECT_NE(none.status().message().find("found no code for compute capability 8.6"), std::string_view::npos);
  folder_.write("kernels.cu", "x");
  EXPECT_EQ(chosen(86), "kernels.cu");
  folder_.write("kernels.ptx", "x");
  EXPECT_EQ(chosen(86), "kernels.ptx");
  folder_.write("kernels.fatbin", "x");
  EXPECT_EQ(chosen(86), "kernels.fatbin");
  folder_.write("kernels.sm_89.cubin", "x");
  folder_.write("kernels.sm_75.cubin", "x");
  EXPECT_EQ(chosen(86), "kernels.fatbin") << "of a newer device, or of another major";
  folder_.write("kernels.sm_80.cubin", "x");
  EXPECT_EQ(chosen(86), "kernels.sm_80.cubin");
  folder_.write("kernels.sm_86.cubin", "x");
  EXPECT_EQ(chosen(86), "kernels.sm_86.cubin");
  EXPECT_EQ(chosen(87), "kernels.sm_86.cubin");
  EXPECT_EQ(chosen(89), "kernels.sm_89.cubin");
  folder_.write("kernels.sm_90a.cubin", "x");
  EXPECT_EQ(chosen(90), "kernels.sm_90a.cubin");
  EXPECT_EQ(chosen(100), "kernels.fatbin");
  folder_.write("kernels.sm_100.cubin", "x");
  EXPECT_EQ(chosen(103), "kernels.sm_100.cubin");
}

TEST_F(CodeFiles, AreChosenByTheConfiguration) {
  folder_.write("kernels.ptx", "x");
  const CodeNames names{"mine.ptx", {{"9.0", "hopper.cubin"}, {"8.6", "../up.ptx"}}};
  EXPECT_EQ(chosen(90, names), "hopper.cubin");
  EXPECT_EQ(chosen(75, names), "mine.ptx");
  EXPECT_EQ(chosen(86, names), "INVALID_ARGUMENT");
}

TEST_F(CodeFiles, OfImportsAreChosenByTheirDevice) {
  const auto imported = [this](int32_t compiled_for, int32_t capability) {
    const Result<std::string> name = choose_import(folder_.path(), "K", compiled_for, capability);
    return name.ok() ? name.value() : std::string(name.status().message().substr(folder_.path().size() + 4));
  };
  EXPECT_EQ(
      imported(80, 90),
      "found no code of 'K' for compute capability 9.0, expected K.ptx, or K.cubin for a device like this; it was "
      "compiled for 8.0");
  folder_.write("K.cubin", "x");
  EXPECT_EQ(imported(80, 86), "K.cubin");
  EXPECT_NE(imported(86, 80), "K.cubin");
  folder_.write("K.ptx", "x");
  EXPECT_EQ(imported(80, 90), "K.ptx");
  EXPECT_EQ(imported(90, 90), "K.cubin");
}

TEST_F(CodeFiles, AreKnownByTheirContents) {
  EXPECT_TRUE(read("a", elf_file()).ok()) << read("a", elf_file()).text();
  EXPECT_EQ(kind_, CodeKind::kMachine);
  EXPECT_TRUE(read("a", fat_file(32)).ok());
  EXPECT_EQ(kind_, CodeKind::kFatBinary);
  EXPECT_TRUE(read("a", "// x\n.version 8.8\n").ok());
  EXPECT_EQ(kind_, CodeKind::kPtx);
  EXPECT_TRUE(read("a.cu", "__global__ void k() {}").ok());
  EXPECT_EQ(kind_, CodeKind::kSource);
}

TEST_F(CodeFiles, AreWholeOrRefused) {
  const std::string elf = elf_file();
  for (size_t bytes = 4; bytes < elf.size(); ++bytes)
    EXPECT_FALSE(read("a", std::string_view(elf).substr(0, bytes)).ok()) << bytes;
  EXPECT_EQ(read("a", std::string_view(elf).substr(0, 100)).message(),
            "'a': found 100 bytes, expected more by what its header says: it is cut off or damaged");
  std::string other = elf;
  other[18] = 62;
  EXPECT_EQ(read("a", other).message(),
            "'a': found an ELF file of machine 62, expected a GPU's machine code, of machine 190");
  other = elf;
  std::memset(&other[40], 0xff, 8);  // where the sections are
  EXPECT_FALSE(read("a", other).ok());
  EXPECT_FALSE(read("a", fat_file(33)).ok());
  EXPECT_FALSE(read("a", fat_file(~uint64_t{0})).ok());
  EXPECT_FALSE(read("a", fat_file(32).substr(0, 15)).ok());
  EXPECT_EQ(read("a", std::string(".version 8.8\n\0x", 15)).message(),
            "'a': found neither a cubin, a fatbin nor text");
  EXPECT_EQ(read("a", "hello").message(),
            "'a': found text without .version, expected PTX; CUDA source ends in .cu");
  EXPECT_EQ(read_code(folder_.path(), "none").status().code(), Code::kNotFound);
  EXPECT_NE(read("empty", "").message().find("found an empty file"), std::string_view::npos);
}

}  // namespace
}  // namespace atl::cuda_backend
