//===- Model.cpp - An ONNX file, opened and checked -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model.h"
#include "WireFormat.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace soap::onnx_import;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

/// Field numbers of onnx-ml.proto.
enum : uint32_t {
  modelGraphField = 7,
  graphNodeField = 1,
  graphInitializerField = 5,
  nodeAttributeField = 5,
  attributeNameField = 1,
  attributeTensorField = 5
};

static llvm::Error corrupt(llvm::StringRef where) {
  return makeError("expected an ONNX model, got: a file that is truncated or "
                   "corrupt (" +
                   where + "); get the file again");
}

/// What a function and its calls have in common. Lengths keep names apart that
/// contain a separator.
template <typename Proto>
static std::string functionKey(const Proto &proto, const std::string &name) {
  llvm::StringRef domain = proto.domain();
  if (domain == "ai.onnx")
    domain = "";
  return std::to_string(domain.size()) + ":" + domain.str() +
         std::to_string(name.size()) + ":" + name + proto.overload();
}

llvm::Expected<std::unique_ptr<Model>> Model::load(llvm::StringRef path,
                                                   const nn::Files &files) {
  auto buffer = files.open(path);
  if (!buffer)
    return makeError("expected a readable ONNX file, got: '" + path +
                     "': " + llvm::toString(buffer.takeError()));
  std::unique_ptr<Model> model(new Model(files));
  model->path_ = path.str();
  model->buffer_ = std::move(*buffer);
  if (llvm::Error error = model->decode())
    return std::move(error);
  return std::move(model);
}

llvm::Error Model::decode() {
  if (buffer_->getBufferSize() == 0)
    return corrupt("it is empty");
  std::string headerBytes, graphBytes;
  llvm::StringRef graphMessage;
  unsigned graphs = 0;
  bool wellFormed =
      walkFields(buffer_->getBuffer(), [&](const WireField &field) {
        if (field.number == modelGraphField && field.type == WireType::Bytes) {
          graphMessage = field.content;
          ++graphs;
        } else {
          headerBytes.append(field.whole.data(), field.whole.size());
        }
        return true;
      });
  if (!wellFormed || !header_.ParseFromString(headerBytes))
    return corrupt("model");
  if (graphs != 1)
    return corrupt("it has " + std::to_string(graphs) + " graphs");
  for (int i = 0; i != header_.functions_size(); ++i) {
    const onnx::FunctionProto &function = header_.functions(i);
    if (!functions_.try_emplace(functionKey(function, function.name()), i)
             .second)
      return makeError("expected functions with different names, got: two of "
                       "domain " +
                       quoted(function.domain()) + " with the name " +
                       quoted(function.name()));
  }

  llvm::Error error = llvm::Error::success();
  wellFormed = walkFields(graphMessage, [&](const WireField &field) {
    if (field.type == WireType::Bytes &&
        field.number == graphInitializerField) {
      error = addInitializer(field.content);
      return !error;
    }
    if (field.type == WireType::Bytes && field.number == graphNodeField)
      nodeBytes_.push_back(field.content);
    graphBytes.append(field.whole.data(), field.whole.size());
    return true;
  });
  if (error)
    return error;
  if (!wellFormed || !graph_.ParseFromString(graphBytes) ||
      static_cast<size_t>(graph_.node_size()) != nodeBytes_.size())
    return corrupt("graph");
  if (graph_.sparse_initializer_size() != 0)
    return makeError("expected dense initializers, got: " +
                     llvm::Twine(graph_.sparse_initializer_size()) +
                     " sparse ones; make them dense");

  sets_ = onnx_import::operatorSets(header_.opset_import());
  if (!sets_.count("") && !sets_.empty()) {
    std::string domains;
    for (const auto &[domain, version] : sets_)
      domains += (domains.empty() ? "" : ", ") + quoted(domain);
    return makeError("expected a model that imports ONNX's own operator set, "
                     "got: one that imports " +
                     domains +
                     " only, whose operators are not supported; export it with "
                     "standard operators");
  }
  int64_t opsetVersion = sets_[""];
  if (opsetVersion < minOpset || opsetVersion > maxOpset)
    return makeError("expected an operator set from " + llvm::Twine(minOpset) +
                     " to " + llvm::Twine(maxOpset) +
                     ", got: " + llvm::Twine(opsetVersion) +
                     "; convert the model, for instance with "
                     "onnx.version_converter");
  return llvm::Error::success();
}

const onnx::FunctionProto *
Model::findFunction(const onnx::NodeProto &node) const {
  if (functions_.empty())
    return nullptr;
  auto it = functions_.find(functionKey(node, node.op_type()));
  return it == functions_.end() ? nullptr : &header_.functions(it->second);
}

llvm::Error Model::addInitializer(llvm::StringRef message) {
  llvm::Expected<TensorRecord> record = parseTensor(message);
  if (!record)
    return record.takeError();
  if (!countElements(record->shape()))
    return makeError("expected a tensor shape within bounds, got: " +
                     toString(record->shape()) + " for initializer '" +
                     record->proto.name() + "'; the file is corrupt");
  if (llvm::Error error = resolveExternal(*record))
    return error;
  tensors_.push_back(std::move(*record));
  return llvm::Error::success();
}

static llvm::Error outsideFolder(llvm::StringRef what, llvm::StringRef place) {
  return makeError("expected the " + what +
                   " inside the model's folder, got: '" + place +
                   "'; move the file next to the model");
}

/// Sets `size` to that of `file`, a regular one inside `folder`.
static llvm::Error checkPlace(llvm::StringRef file, llvm::StringRef folder,
                              llvm::StringRef what, llvm::StringRef location,
                              uint64_t &size) {
  // A symbolic link may not lead outside either.
  llvm::SmallString<256> realFile, realFolder;
  if (std::error_code code = fs::real_path(file, realFile))
    return makeError("expected the " + what + " in '" + file +
                     "', got: " + code.message());
  if (!fs::is_regular_file(realFile) || fs::file_size(realFile, size))
    return makeError("expected the " + what + " in '" + file +
                     "', got: not a file");
  if (fs::real_path(folder, realFolder))
    return outsideFolder(what, location);
  if (!path::is_absolute(realFolder) ||
      !llvm::StringRef(realFile).starts_with(realFolder) ||
      (realFolder != "/" && realFile[realFolder.size()] != '/'))
    return outsideFolder(what, location);
  return llvm::Error::success();
}

llvm::Error Model::resolveExternal(TensorRecord &record) const {
  const onnx::TensorProto &proto = record.proto;
  if (proto.data_location() != onnx::TensorProto::EXTERNAL)
    return llvm::Error::success();
  std::string what = "external data of tensor '" + proto.name() + "'";
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  for (const onnx::StringStringEntryProto &entry : proto.external_data()) {
    uint64_t number = 0;
    if (entry.key() == "location") {
      location = entry.value();
    } else if (entry.key() == "offset" || entry.key() == "length") {
      if (llvm::StringRef(entry.value()).getAsInteger(10, number))
        return makeError("expected a number as " + entry.key() + " of the " +
                         what + ", got: '" + entry.value() + "'");
      if (entry.key() == "offset")
        offset = number;
      else
        length = number;
    }
  }
  bool climbs = path::is_absolute(location) || location.empty() ||
                location.find('\0') != std::string::npos;
  for (auto it = path::begin(location), end = path::end(location); it != end;
       ++it)
    climbs |= *it == "..";
  if (climbs)
    return outsideFolder(what, location);
  llvm::SmallString<256> file(path::parent_path(this->path_));
  llvm::SmallString<256> folder(file.empty() ? "." : file.str());
  path::append(file, location);
  uint64_t size = 0;
  if (std::optional<llvm::StringRef> bytes = files_.find(file))
    size = bytes->size();
  else if (llvm::Error error = checkPlace(file, folder, what, location, size))
    return error;
  if (offset > size || (length && *length > size - offset))
    return makeError("expected the " + what + " within the " +
                     llvm::Twine(size) + " bytes of '" + file.str() +
                     "', got: offset " + llvm::Twine(offset) + ", length " +
                     llvm::Twine(length.value_or(0)) +
                     "; the data file is truncated or of another model");
  std::optional<int64_t> count = countElements(record.shape());
  uint64_t bytes =
      count ? static_cast<uint64_t>(storedBytes(proto.data_type(), *count)) : 0;
  record.external =
      DataReference{file.str().str(), offset,
                    length ? *length : std::min(bytes, size - offset)};
  return llvm::Error::success();
}

llvm::Expected<TensorRecord>
Model::tensorAttribute(int index, llvm::StringRef name) const {
  llvm::StringRef tensor;
  bool found = false;
  walkFields(
      nodeBytes_[static_cast<size_t>(index)], [&](const WireField &attr) {
        if (attr.number != nodeAttributeField || attr.type != WireType::Bytes)
          return true;
        llvm::StringRef attributeName, content;
        walkFields(attr.content, [&](const WireField &field) {
          if (field.type == WireType::Bytes &&
              field.number == attributeNameField)
            attributeName = field.content;
          if (field.type == WireType::Bytes &&
              field.number == attributeTensorField)
            content = field.content;
          return true;
        });
        if (attributeName == name) {
          tensor = content;
          found = true;
        }
        return true;
      });
  if (!found)
    return makeError("expected the tensor attribute '" + name + "', got: none");
  llvm::Expected<TensorRecord> record = parseTensor(tensor);
  if (!record)
    return record.takeError();
  if (!countElements(record->shape()))
    return makeError("expected a tensor shape within bounds, got: " +
                     toString(record->shape()));
  if (llvm::Error error = resolveExternal(*record))
    return std::move(error);
  return record;
}

llvm::Expected<std::optional<DataReference>>
Model::locate(const TensorRecord &record) const {
  std::optional<DataReference> reference = record.external;
  if (!reference && !record.raw.empty())
    reference = DataReference{
        path_,
        static_cast<uint64_t>(record.raw.data() - buffer_->getBufferStart()),
        record.raw.size()};
  if (!reference)
    return std::nullopt;
  std::optional<int64_t> count = countElements(record.shape());
  int64_t bytes = storedBytes(record.proto.data_type(), count.value_or(0));
  if (isKnownType(record.proto.data_type()) &&
      (!count || reference->length != static_cast<uint64_t>(bytes)))
    return makeError(
        "expected " + llvm::Twine(bytes) + " bytes for tensor '" +
        record.proto.name() + "' of shape " + toString(record.shape()) +
        " and type " + typeName(record.proto.data_type()) +
        ", got: " + llvm::Twine(reference->length) + "; the file is corrupt");
  return reference;
}

llvm::Expected<HostTensor> Model::read(const TensorRecord &record) const {
  if (!record.external)
    return readTensor(record, record.raw);
  if (countElements(record.shape()).value_or(maxElements) > maxHostElements)
    return readTensor(record, {});
  llvm::Expected<std::string> bytes = readBytes(files_, *record.external);
  if (!bytes)
    return bytes.takeError();
  return readTensor(record, *bytes);
}

llvm::Expected<std::string> Model::readBytes(const nn::Files &files,
                                             const DataReference &reference) {
  if (reference.length > static_cast<uint64_t>(maxHostElements) * 8)
    return makeError("expected a small tensor, got: " +
                     llvm::Twine(reference.length) + " bytes");
  if (reference.length == 0)
    return std::string();
  auto file = files.open(reference.file);
  if (!file)
    return makeError("expected a readable file, got: '" + reference.file +
                     "': " + llvm::toString(file.takeError()));
  uint64_t size = (*file)->getBufferSize();
  if (reference.offset > size || reference.length > size - reference.offset)
    return makeError("expected " + llvm::Twine(reference.length) +
                     " bytes at " + llvm::Twine(reference.offset) + " of '" +
                     reference.file + "', got: a file of " + llvm::Twine(size) +
                     " bytes");
  return (*file)->getBuffer().substr(reference.offset, reference.length).str();
}
