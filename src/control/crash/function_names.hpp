#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace nearfield::control {

/// Build-id of an ELF file or of a loaded module: `headers` begins with its ELF header; `notes_at` is added to a note
/// segment's address (p_vaddr) in a loaded module, nullptr if `headers` is the whole file. Empty if there is none.
std::span<const unsigned char> build_id_of(const unsigned char* headers, std::size_t bytes,
                                           const unsigned char* notes_at);

/// Names of functions in an ELF file's symbol table: C++ names are mangled, c++filt decodes them. For the handler of a
/// crash: the file is mapped, nothing is allocated, and every function is safe in a signal handler.
class FunctionNames {
 public:
  struct Found {
    const char* name = nullptr;  ///< in the mapped file; nullptr: no function of the table has the address
    std::uintptr_t offset = 0;   ///< offset of the address in the function
  };

  /// No names are found in a file that cannot be read, is damaged, or has another build-id than the loaded module
  /// (replaced by an upgrade).
  FunctionNames(const char* path, std::span<const unsigned char> build_id);
  ~FunctionNames();
  FunctionNames(const FunctionNames&) = delete;
  FunctionNames& operator=(const FunctionNames&) = delete;

  /// Finds an address relative to the load address of the module.
  [[nodiscard]] Found find(std::uintptr_t address) const;

 private:
  void read_table();

  std::span<const unsigned char> file_;
  std::span<const unsigned char> symbols_;  ///< entries ElfW(Sym)
  std::span<const unsigned char> names_;
};

}  // namespace nearfield::control
