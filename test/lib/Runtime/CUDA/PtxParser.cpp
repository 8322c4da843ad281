//===- PtxParser.cpp - Reads PTX ------------------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ptx.h"
#include <cstring>
#include <stdexcept>

using namespace soap::ptx;

bool Instruction::has(const char *modifier) const {
  for (const std::string &own : modifiers)
    if (own == modifier)
      return true;
  return false;
}

namespace {
/// Words, numbers and single characters, with their lines.
struct Token {
  std::string text;
  int line;
};

std::vector<Token> tokenize(const std::string &text) {
  std::vector<Token> tokens;
  int line = 1;
  auto isWord = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' ||
           c == '$' || c == '%' || c == '.';
  };
  for (size_t i = 0; i < text.size();) {
    char c = text[i];
    if (c == '\n')
      ++line;
    if (std::isspace(static_cast<unsigned char>(c))) {
      ++i;
    } else if (text.compare(i, 2, "//") == 0) {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == '"') {
      i = text.find('"', i + 1) + 1;
    } else if (isWord(c)) {
      size_t end = i;
      while (end < text.size() && isWord(text[end]))
        ++end;
      tokens.push_back({text.substr(i, end - i), line});
      i = end;
    } else {
      tokens.push_back({std::string(1, c), line});
      ++i;
    }
  }
  return tokens;
}

TypeSize typeOf(const std::string &name) {
  if (name == "pred")
    return {Type::Pred, 1};
  if (name == "bf16")
    return {Type::BF, 2};
  static const std::map<char, Type> kinds = {
      {'b', Type::B}, {'u', Type::U}, {'s', Type::S}, {'f', Type::F}};
  auto kind = name.empty() ? kinds.end() : kinds.find(name[0]);
  if (kind == kinds.end())
    return {};
  std::string bits = name.substr(1);
  for (uint8_t bytes : {1, 2, 4, 8})
    if (bits == std::to_string(8 * bytes))
      return {kind->second, bytes};
  return {};
}

class Parser {
public:
  explicit Parser(const std::string &text) : tokens_(tokenize(text)) {}

  std::map<std::string, Function> parseModule() {
    std::map<std::string, Function> functions;
    while (at_ != tokens_.size()) {
      if (peek() == ".entry") {
        Function function = parseEntry();
        functions.emplace(function.name, std::move(function));
      } else if (peek() == ".shared" || peek() == ".global") {
        parseVariable(moduleSymbols_, moduleShared_);
      } else if (peek() == ".func" || peek() == ".const") {
        fail("an entry");
      } else {
        ++at_; // .version 7.0, .target sm_80, .visible, ...
      }
    }
    return functions;
  }

private:
  [[noreturn]] void fail(const std::string &expected) const {
    const Token &token = tokens_[std::min(at_, tokens_.size() - 1)];
    throw std::runtime_error("line " + std::to_string(token.line) +
                             ": expected " + expected + ", got: " + token.text);
  }
  const std::string &peek(size_t ahead = 0) const {
    static const std::string end;
    return at_ + ahead < tokens_.size() ? tokens_[at_ + ahead].text : end;
  }
  std::string take() {
    if (at_ == tokens_.size())
      fail("more");
    return tokens_[at_++].text;
  }
  bool accept(const std::string &text) {
    if (peek() != text)
      return false;
    ++at_;
    return true;
  }
  void expect(const std::string &text) {
    if (!accept(text))
      fail("'" + text + "'");
  }
  uint64_t takeNumber() { return std::stoull(take(), nullptr, 0); }

  Function parseEntry();
  void parseParameter();
  void parseVariable(std::map<std::string, uint64_t> &symbols, uint32_t &end);
  void parseRegisters();
  void parseInstruction();
  Operand parseOperand();
  Operand parseMemory();
  Operand parseConstant(const std::string &word, bool isNegative);
  bool findSpecial(const std::string &name, uint64_t &value) const;

  std::vector<Token> tokens_;
  size_t at_ = 0;
  std::map<std::string, uint64_t> moduleSymbols_;
  uint32_t moduleShared_ = 0;

  Function function_;
  std::map<std::string, uint64_t> symbols_; ///< Of variables and parameters.
  std::map<std::string, uint32_t> registers_, labels_;
  std::vector<std::pair<uint32_t, std::string>> branches_;
};

uint32_t aligned(uint32_t offset, uint32_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}
} // namespace

/// `.param .u64 .ptr .align 4 name` or `.param .align 8 .b8 name[16]`
void Parser::parseParameter() {
  expect(".param");
  uint32_t alignment = 0, bytes = 0;
  while (peek()[0] == '.') {
    std::string word = take();
    if (word == ".align")
      alignment = static_cast<uint32_t>(takeNumber());
    else if (TypeSize type = typeOf(word.substr(1)); type.bytes)
      bytes = type.bytes;
  }
  std::string name = take();
  uint32_t element = bytes;
  if (accept("[")) {
    bytes *= static_cast<uint32_t>(takeNumber());
    expect("]");
    element = std::max(element, alignment);
  }
  uint32_t offset = aligned(function_.parameterBytes, element);
  symbols_[name] = kParameterWindow + offset;
  function_.parameters.emplace_back(offset, bytes);
  function_.parameterBytes = offset + bytes;
}

/// `.shared .align 4 .b8 name[128];`; `.extern` and initializers are not known.
void Parser::parseVariable(std::map<std::string, uint64_t> &symbols,
                           uint32_t &end) {
  std::string space = take();
  uint32_t alignment = 1, bytes = 0;
  while (peek()[0] == '.') {
    std::string word = take();
    if (word == ".align")
      alignment = static_cast<uint32_t>(takeNumber());
    else if (TypeSize type = typeOf(word.substr(1)); type.bytes)
      bytes = type.bytes;
  }
  std::string name = take();
  alignment = std::max(alignment, bytes);
  if (accept("[")) {
    bytes *= static_cast<uint32_t>(takeNumber());
    expect("]");
  }
  if (space == ".global" || peek() != ";")
    fail("a shared or local variable without initial values");
  expect(";");
  end = aligned(end, alignment);
  symbols[name] = (space == ".shared" ? kSharedWindow : kLocalWindow) + end;
  end += bytes;
}

/// `.reg .f32 %f<4>, %g;`
void Parser::parseRegisters() {
  expect(".reg");
  take();
  do {
    std::string name = take();
    if (accept("<")) {
      uint64_t count = takeNumber();
      expect(">");
      for (uint64_t i = 0; i != count; ++i)
        registers_.emplace(name + std::to_string(i), function_.registers++);
    } else {
      registers_.emplace(name, function_.registers++);
    }
  } while (accept(","));
  expect(";");
}

bool Parser::findSpecial(const std::string &name, uint64_t &value) const {
  static const std::map<std::string, uint64_t> known = {
      {"%tid.x", ThreadIndex}, {"%ntid.x", BlockSize}, {"%ctaid.x", BlockIndex},
      {"%nctaid.x", GridSize}, {"%laneid", LaneIndex}, {"WARP_SZ", WarpSize},
      {"%tid.y", Zero},        {"%tid.z", Zero},       {"%ctaid.y", Zero},
      {"%ctaid.z", Zero},      {"%ntid.y", One},       {"%ntid.z", One},
      {"%nctaid.y", One},      {"%nctaid.z", One}};
  auto it = known.find(name);
  if (it != known.end())
    value = it->second;
  return it != known.end();
}

Operand Parser::parseConstant(const std::string &word, bool isNegative) {
  Operand result;
  double number = 0;
  if (word.compare(0, 2, "0f") == 0 || word.compare(0, 2, "0F") == 0) {
    auto bits = static_cast<uint32_t>(std::stoull(word.substr(2), nullptr, 16));
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    number = value;
    result.isFloat = true;
  } else if (word.compare(0, 2, "0d") == 0 || word.compare(0, 2, "0D") == 0) {
    uint64_t bits = std::stoull(word.substr(2), nullptr, 16);
    std::memcpy(&number, &bits, sizeof(number));
    result.isFloat = true;
  } else if (word.find('.') != std::string::npos) {
    number = std::stod(word);
    result.isFloat = true;
  } else {
    // PTX may end an unsigned number in U.
    result.value = std::stoull(word, nullptr, 0);
    if (isNegative)
      result.value = -result.value;
  }
  if (result.isFloat) {
    number = isNegative ? -number : number;
    std::memcpy(&result.value, &number, sizeof(number));
  }
  return result;
}

Operand Parser::parseMemory() {
  Operand result;
  result.kind = Operand::Memory;
  std::string base = take();
  if (auto own = registers_.find(base); own != registers_.end())
    result.base = static_cast<int32_t>(own->second);
  else if (symbols_.count(base))
    result.value = symbols_[base];
  else if (std::isdigit(static_cast<unsigned char>(base[0])))
    result.value = std::stoull(base, nullptr, 0);
  else
    fail("a register or a variable before this");
  if (peek() == "+" || peek() == "-") {
    bool isNegative = take() == "-" || accept("-");
    uint64_t offset = takeNumber();
    result.value += isNegative ? -offset : offset;
  }
  expect("]");
  return result;
}

Operand Parser::parseOperand() {
  Operand result;
  if (accept("[")) {
    return parseMemory();
  }
  if (accept("{")) {
    result.kind = Operand::Vector;
    do
      result.elements.push_back(parseOperand());
    while (accept(","));
    expect("}");
    return result;
  }
  bool isNegated = accept("!"), isNegative = accept("-");
  std::string word = take();
  result.isNegated = isNegated;
  if (auto own = registers_.find(word); own != registers_.end()) {
    result.kind = Operand::Register;
    result.value = own->second;
  } else if (findSpecial(word, result.value)) {
    result.kind = Operand::Special;
  } else if (auto symbol = symbols_.find(word); symbol != symbols_.end()) {
    result.value = symbol->second;
  } else if (std::isdigit(static_cast<unsigned char>(word[0]))) {
    result = parseConstant(word, isNegative);
  } else if (word != "_") {
    --at_;
    fail("an operand");
  } else {
    result.kind = Operand::Vector; // Nothing is written.
  }
  return result;
}

void Parser::parseInstruction() {
  Instruction result;
  result.number = tokens_[at_].line;
  if (accept("@")) {
    result.isGuardNegated = accept("!");
    auto guard = registers_.find(take());
    if (guard == registers_.end())
      fail("a predicate before this");
    result.guard = static_cast<int32_t>(guard->second);
  }
  std::string word = take();
  for (size_t start = 0; start <= word.size();) {
    size_t end = std::min(word.find('.', start), word.size());
    std::string part = word.substr(start, end - start);
    // Modifiers such as `::` in st.shared::cta are not written by LLVM 19.
    if (start == 0)
      result.opcode = part;
    else if (TypeSize type = typeOf(part); type.bytes)
      result.types.push_back(type);
    else
      result.modifiers.push_back(part);
    start = end + 1;
  }
  if (result.opcode == "bra") {
    branches_.emplace_back(function_.body.size(), take());
  } else {
    while (peek() != ";") {
      result.operands.push_back(parseOperand());
      if (!accept(",") && !accept("|") && peek() != ";")
        fail("',' or ';'");
    }
  }
  expect(";");
  function_.body.push_back(std::move(result));
}

Function Parser::parseEntry() {
  expect(".entry");
  function_ = {};
  symbols_ = moduleSymbols_;
  registers_.clear();
  labels_.clear();
  branches_.clear();
  function_.sharedBytes = moduleShared_;
  function_.name = take();
  if (accept("("))
    while (!accept(")")) {
      parseParameter();
      accept(",");
    }
  while (peek() != "{") {
    std::string directive = take();
    if (directive == ".reqntid")
      function_.requiredThreads = static_cast<uint32_t>(takeNumber());
  }
  expect("{");
  while (!accept("}")) {
    if (peek() == ".reg")
      parseRegisters();
    else if (peek() == ".shared")
      parseVariable(symbols_, function_.sharedBytes);
    else if (peek() == ".local")
      parseVariable(symbols_, function_.localBytes);
    else if (peek() == ".loc" || peek() == ".pragma")
      while (take() != ";" && peek() != ".loc")
        ;
    else if (peek(1) == ":") {
      labels_[take()] = static_cast<uint32_t>(function_.body.size());
      take();
    } else
      parseInstruction();
  }
  for (const auto &[index, label] : branches_) {
    auto target = labels_.find(label);
    if (target == labels_.end())
      fail("the label " + label + " before this");
    function_.body[index].target = target->second;
  }
  return std::move(function_);
}

std::map<std::string, Function> soap::ptx::parse(const std::string &text) {
  return Parser(text).parseModule();
}
