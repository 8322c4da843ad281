//===- ElfFile.cpp - Symbols of a shared library, unloaded ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model/ElfFile.h"
#include "Error.h"
#include <cstring>
#include <elf.h>

using namespace soap::runtime;

#if defined(__x86_64__)
static constexpr uint16_t hostMachine = EM_X86_64;
static constexpr const char *hostName = "x86-64";
#elif defined(__aarch64__)
static constexpr uint16_t hostMachine = EM_AARCH64;
static constexpr const char *hostName = "aarch64";
#else
static constexpr uint16_t hostMachine = EM_NONE;
static constexpr const char *hostName = "this machine";
#endif

void ElfFile::damaged(const char *what) const {
  invalid("expected a complete shared library in '", file_.path(),
          "', got: ", what, "; compile the model again");
}

template <typename T>
const T *ElfFile::at(uint64_t offset, uint64_t count) const {
  if (offset > file_.size() || count > (file_.size() - offset) / sizeof(T))
    damaged("a truncated file");
  if (offset % alignof(T))
    damaged("a misaligned table");
  return reinterpret_cast<const T *>(file_.data() + offset);
}

ElfFile::ElfFile(const MappedFile &file) : file_(file) {
  if (file.size() < sizeof(Elf64_Ehdr) ||
      std::memcmp(file.data(), ELFMAG, SELFMAG) != 0)
    invalid("expected a model made by soap-compile, got: '", file.path(),
            "', which is no shared library");
  const auto *header = at<Elf64_Ehdr>(0);
  if (header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_type != ET_DYN ||
      header->e_machine != hostMachine)
    invalid("expected a 64-bit shared library for ", hostName, ", got: '",
            file.path(), "' for machine ", header->e_machine,
            "; compile the model on this machine");
  if (header->e_phentsize != sizeof(Elf64_Phdr) ||
      header->e_shentsize != sizeof(Elf64_Shdr))
    damaged("headers of another size");
  const auto *segments = at<Elf64_Phdr>(header->e_phoff, header->e_phnum);
  for (unsigned i = 0; i != header->e_phnum; ++i)
    if (segments[i].p_offset > file.size() ||
        segments[i].p_filesz > file.size() - segments[i].p_offset)
      damaged("a truncated file");
  at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
}

std::optional<ElfFile::Symbol> ElfFile::find(const char *name) const {
  const auto *header = at<Elf64_Ehdr>(0);
  const auto *segments = at<Elf64_Phdr>(header->e_phoff, header->e_phnum);
  const auto *sections = at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
  for (unsigned s = 0; s != header->e_shnum; ++s) {
    const Elf64_Shdr &table = sections[s];
    if (table.sh_type != SHT_DYNSYM)
      continue;
    if (table.sh_link >= header->e_shnum)
      damaged("a symbol table without names");
    const Elf64_Shdr &strings = sections[table.sh_link];
    const auto *names = at<char>(strings.sh_offset, strings.sh_size);
    uint64_t count = table.sh_size / sizeof(Elf64_Sym);
    const auto *symbols = at<Elf64_Sym>(table.sh_offset, count);
    size_t length = std::strlen(name) + 1;
    for (uint64_t i = 0; i != count; ++i) {
      const Elf64_Sym &symbol = symbols[i];
      if (symbol.st_name >= strings.sh_size ||
          strings.sh_size - symbol.st_name < length ||
          std::memcmp(names + symbol.st_name, name, length) != 0 ||
          symbol.st_shndx == SHN_UNDEF)
        continue;
      for (unsigned p = 0; p != header->e_phnum; ++p) {
        const Elf64_Phdr &segment = segments[p];
        if (segment.p_type != PT_LOAD || symbol.st_value < segment.p_vaddr)
          continue;
        uint64_t inside = symbol.st_value - segment.p_vaddr;
        if (inside <= segment.p_filesz &&
            symbol.st_size <= segment.p_filesz - inside)
          return Symbol{segment.p_offset + inside, symbol.st_size};
      }
      damaged("a symbol outside of the file");
    }
  }
  return std::nullopt;
}
