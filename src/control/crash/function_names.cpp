#include "control/crash/function_names.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace nearfield::control {
namespace {

using Bytes = std::span<const unsigned char>;

/// Part of `whole`; empty if it is not inside.
Bytes part_of(Bytes whole, std::size_t offset, std::size_t count) {
  return offset <= whole.size() && count <= whole.size() - offset ? whole.subspan(offset, count) : Bytes();
}

/// Structure at `offset`, aligned or not; zeros if it is not inside.
template <typename T>
T structure_at(Bytes whole, std::size_t offset) {
  T value{};
  if (const Bytes bytes = part_of(whole, offset, sizeof value); !bytes.empty()) {
    std::memcpy(&value, bytes.data(), sizeof value);
  }
  return value;
}

bool is_elf(const ElfW(Ehdr) & header) { return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0; }

/// Value of the build-id note among the notes of a segment; empty if there is none.
Bytes build_id_among(Bytes notes) {
  constexpr std::size_t kAlignment = 4;
  const auto padded = [](std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; };
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    const auto header = structure_at<ElfW(Nhdr)>(notes, 0);
    const std::size_t value = sizeof header + padded(header.n_namesz);
    if (header.n_type == NT_GNU_BUILD_ID) {
      return part_of(notes, value, header.n_descsz);
    }
    notes = notes.subspan(std::min(notes.size(), value + padded(header.n_descsz)));
  }
  return {};
}

/// The section of that type; all zeros if there is none.
ElfW(Shdr) section_of_type(Bytes file, const ElfW(Ehdr) & header, unsigned type) {
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const auto section = structure_at<ElfW(Shdr)>(file, header.e_shoff + i * sizeof(ElfW(Shdr)));
    if (section.sh_type == type) {
      return section;
    }
  }
  return {};
}

Bytes contents_of(Bytes file, const ElfW(Shdr) & section) { return part_of(file, section.sh_offset, section.sh_size); }

}  // namespace

Bytes build_id_of(const unsigned char* headers, std::size_t bytes, const unsigned char* notes_at) {
  const Bytes whole(headers, bytes);
  const auto header = structure_at<ElfW(Ehdr)>(whole, 0);
  if (!is_elf(header)) {
    return {};
  }
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = structure_at<ElfW(Phdr)>(whole, header.e_phoff + i * sizeof(ElfW(Phdr)));
    if (segment.p_type != PT_NOTE) {
      continue;
    }
    const Bytes notes = notes_at == nullptr ? part_of(whole, segment.p_offset, segment.p_filesz)
                                            : Bytes(notes_at + segment.p_vaddr, segment.p_memsz);
    if (const Bytes found = build_id_among(notes); !found.empty()) {
      return found;
    }
  }
  return {};
}

FunctionNames::FunctionNames(const char* path, Bytes build_id) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return;
  }
  struct stat of_file {};
  if (::fstat(file, &of_file) == 0 && S_ISREG(of_file.st_mode) && of_file.st_size > 0) {
    const auto bytes = static_cast<std::size_t>(of_file.st_size);
    if (void* const mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0); mapped != MAP_FAILED) {
      file_ = Bytes(static_cast<const unsigned char*>(mapped), bytes);
    }
  }
  ::close(file);
  const Bytes of_mapped = build_id_of(file_.data(), file_.size(), nullptr);
  if (std::equal(of_mapped.begin(), of_mapped.end(), build_id.begin(), build_id.end())) {
    read_table();
  }
}

FunctionNames::~FunctionNames() {
  if (!file_.empty()) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): as mmap() gave it
    ::munmap(const_cast<unsigned char*>(file_.data()), file_.size());
  }
}

/// Reads all functions if the file was not stripped, else the exported ones.
void FunctionNames::read_table() {
  const auto header = structure_at<ElfW(Ehdr)>(file_, 0);
  if (!is_elf(header) || header.e_shentsize != sizeof(ElfW(Shdr))) {
    return;
  }
  ElfW(Shdr) table = section_of_type(file_, header, SHT_SYMTAB);
  if (table.sh_type != SHT_SYMTAB) {
    table = section_of_type(file_, header, SHT_DYNSYM);
  }
  if (table.sh_entsize != sizeof(ElfW(Sym)) || table.sh_link >= header.e_shnum) {
    return;
  }
  symbols_ = contents_of(file_, table);
  names_ = contents_of(
      file_, structure_at<ElfW(Shdr)>(file_, header.e_shoff + std::size_t{table.sh_link} * sizeof(ElfW(Shdr))));
}

FunctionNames::Found FunctionNames::find(std::uintptr_t address) const {
  constexpr unsigned kTypeMask = 0xFU;
  for (std::size_t at = 0; at + sizeof(ElfW(Sym)) <= symbols_.size(); at += sizeof(ElfW(Sym))) {
    const auto symbol = structure_at<ElfW(Sym)>(symbols_, at);
    if ((symbol.st_info & kTypeMask) != STT_FUNC || symbol.st_shndx == SHN_UNDEF || address < symbol.st_value ||
        address - symbol.st_value >= symbol.st_size || symbol.st_name >= names_.size()) {
      continue;
    }
    const Bytes name = names_.subspan(symbol.st_name);
    if (std::memchr(name.data(), '\0', name.size()) != nullptr) {
      return {reinterpret_cast<const char*>(name.data()), address - symbol.st_value};
    }
  }
  return {};
}

}  // namespace nearfield::control
