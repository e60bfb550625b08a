#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace nearfield::control {

/// The build-id of an ELF file or of a loaded module: `headers` begins with its ELF header; `notes_at` is what a note
/// segment's address (p_vaddr) has to be added to where the module is loaded, nullptr where `headers` is the whole
/// file. Empty where there is none.
std::span<const unsigned char> build_id_of(const unsigned char* headers, std::size_t bytes,
                                           const unsigned char* notes_at);

/// The names of functions in an ELF file, as its symbol table has them: C++ names are mangled, c++filt reads them. For
/// the handler of a crash: the file is mapped, nothing is allocated, and every function is safe in a signal handler.
class FunctionNames {
 public:
  struct Found {
    const char* name = nullptr;  ///< in the mapped file; nullptr: no function of the table has the address
    std::uintptr_t offset = 0;   ///< of the address in the function
  };

  /// A file that cannot be read, is damaged, or has another build-id than the loaded module (an upgrade has replaced
  /// it) has no names.
  FunctionNames(const char* path, std::span<const unsigned char> build_id);
  ~FunctionNames();
  FunctionNames(const FunctionNames&) = delete;
  FunctionNames& operator=(const FunctionNames&) = delete;

  /// Of an address relative to where the module is loaded.
  [[nodiscard]] Found find(std::uintptr_t address) const;

 private:
  void read_table();

  std::span<const unsigned char> file_;
  std::span<const unsigned char> symbols_;  ///< of ElfW(Sym)
  std::span<const unsigned char> names_;
};

}  // namespace nearfield::control
