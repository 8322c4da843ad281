//===- SoapRunTest.cpp - The contract of soap-run -------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sys/wait.h>

using nlohmann::json;

namespace {
struct Outcome {
  int code = -1;
  std::string text; ///< stdout and stderr.
};

class SoapRun : public testing::Test {
protected:
  std::string models_ = SOAP_TEST_MODELS "/";
  std::string file(const char *name) { return models_ + name; }

  Outcome run(const std::string &arguments, const std::string &prefix = "") {
    std::string command =
        prefix + SOAP_RUN_TOOL " " + arguments + " 2>&1 </dev/null";
    FILE *pipe = popen(command.c_str(), "r");
    Outcome outcome;
    char buffer[4096];
    for (size_t n; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;)
      outcome.text.append(buffer, n);
    int status = pclose(pipe);
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return outcome;
  }
  std::string one() { return file("one.so"); }

  /// Expects this exit code and all of these words.
  Outcome expect(int code, const std::string &arguments,
                 std::initializer_list<const char *> words = {},
                 const std::string &prefix = "") {
    Outcome outcome = run(arguments, prefix);
    EXPECT_EQ(outcome.code, code) << arguments << "\n" << outcome.text;
    for (const char *word : words)
      EXPECT_NE(outcome.text.find(word), std::string::npos)
          << "'" << word << "' of " << arguments << " in\n"
          << outcome.text;
    return outcome;
  }
};
} // namespace

TEST_F(SoapRun, HelpAndVersion) {
  expect(0, "--help",
         {"Data:", "Checks:", "Measuring:", "Devices:", "Example:", "--rtol",
          "--profile-ops", "Exit codes"});
  expect(0, "--version", {"soap-run 0."});
}

TEST_F(SoapRun, Usage) {
  expect(2, "", {"error: expected a compiled model"});
  expect(2, "--no-such-option", {"error: ", "--help"});
  expect(2, "no-such.so", {"error: expected a model", "No such file"});
  expect(2, one() + " --transport=telepathy",
         {"error: --transport: expected auto, local, mpi or tcp, got: "
          "'telepathy'"});
  expect(0, one() + " --transport=local", {},
         "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 ");
  expect(2, one() + " --map=0,0", {"expected the ranks of 1 devices, got: 2"});
  expect(2, one() + " --map=1", {"expected ranks below 1, got: 1"});
  for (const char *map : {"x", "0,-1", "4294967296", "1.5"})
    expect(2, one() + " --map=" + map, {"error: --map: expected ", ", got: "});
  for (const char *timeout : {"0", "-1", "soon", "1s", "inf", "nan"})
    expect(2, one() + " --timeout=" + timeout,
           {"error: --timeout: expected ", ", got: '", timeout});
  for (const char *timeout : {"0.01", "1e7"})
    for (const char *transport : {"local", "auto"})
      expect(2, one() + " --transport=" + transport + " --timeout=" + timeout,
             {"error: expected a timeout of 0.1 to 1000000 s, got: "});
  for (const char *link : {"fast", "1GB/s", "1GB/s:", ":1us", "-1GB/s:1us",
                           "1GB/s:-1us", "nanGB/s:1us", "0B/s:1us"})
    expect(2, one() + " --link=" + link, {"error: expected ", ", got: '"});
  expect(2, one() + " --iterations=many",
         {"error: --iterations: expected ", ", got: 'many'"});
  expect(2, one() + " --cores-per-device=-1",
         {"error: --cores-per-device: expected "});
  expect(2, one() + " --cores-per-device=9999", {"cores per device"});
  expect(2, file("abi.so"),
         {"expected a model of ABI ", "; compile the model again"});
}

TEST_F(SoapRun, TwoDevicesEqualOne) {
  expect(0, file("two.so") + " --compare=" + one() + " --input=x=random:3",
         {"compare y: equal"});
  expect(1, file("other.so") + " --compare=" + one(),
         {"compare y: DIFFERENT", "elements differ"});
}

TEST_F(SoapRun, Verify) {
  expect(0, file("two.so") + " --verify",
         {"verify: equal, 6 tensors of 648 elements in 9 tiles, worst norm rel "
          "error "});
  // The combiner is wrong: the first tensor that sees it, where it shows.
  expect(1, file("wrong.so") + " --verify",
         {"verify: DIFFERENT, 6 tensors", "verify: 4 of 6 tensors differ",
          "first in graph order: 'product', f32 [4x10]",
          "tile [0:4, 0:10] on device 0, received by 'row2'", "worst element [",
          "]: got "});
  expect(0, file("wrong.so") + " --verify --rtol=1000");
  expect(2, one() + " --verify",
         {"expected a model of several devices, got: '", "--compare"});
  expect(2, file("bare.so") + " --verify", {"without --no-reference"});
  expect(0, file("two.so") + " --info", {"reference    a build"});
}

TEST_F(SoapRun, VerifyJson) {
  json verify = json::parse(
      expect(1, file("wrong.so") + " --verify --json").text)["verify"];
  EXPECT_FALSE(verify["equal"]);
  EXPECT_EQ(verify["tensors"], 6);
  EXPECT_EQ(verify["different"], 4);
  EXPECT_TRUE(verify["not_compared"].empty());
  json first = verify["first"];
  EXPECT_EQ(first["name"], "product");
  EXPECT_EQ(first["device"], 0);
  EXPECT_EQ(first["row_name"], "row2");
  EXPECT_EQ(first["how"], "received");
  EXPECT_EQ(first["box"], json::parse("[[0, 4], [0, 10]]"));
  EXPECT_EQ(first["worst"]["index"].size(), 2u);
  EXPECT_NE(first["worst"]["got"], first["worst"]["expected"]);
}

TEST_F(SoapRun, FilesInAndOut) {
  std::string npy = file("y.npy");
  expect(0, one() + " --input=x=random:5:-1:1 --output=y=" + npy);
  expect(0, one() + " --input=x=random:5:-1:1 --expected=y=" + npy,
         {"expected y: equal, max abs error 0"});
  expect(1, one() + " --input=x=zeros --expected=y=" + npy, {"DIFFERENT"});
  // Equal shares of ten columns, plus 10.
  expect(0, one() + " --input=x=zeros --print=y:2",
         {"y: f32 [4x10]", "[0] 10.1", "[1] 10.1"});
  expect(2, one() + " --input=x=" + npy,
         {"expected f32 [4x32] for input 'x'", "got: f32 [4x10]"});
  expect(2, one() + " --input=z=zeros",
         {"expected an input of the model ('x'), got: 'z'"});
  expect(2, one() + " --input=x=file.txt", {".npy or .pb"});
  expect(2, one() + " --input=x=random:", {"random:SEED"});
  expect(2, one() + " --input=x=random:1:5:4", {"LOW < HIGH"});
  expect(2, one() + " --input=x", {"--input=NAME=VALUE"});
  expect(2, one() + " --output=q=a.npy", {"('y'), got: 'q'"});
  std::ofstream(file("bad.npy")) << "\x93NUMPY\x01 and then nothing";
  expect(2, one() + " --input=x=" + file("bad.npy"),
         {"error: expected a .npy"});
  std::ofstream(file("bad.pb")) << "this is no protobuf";
  expect(2, one() + " --input=x=" + file("bad.pb"),
         {"error: expected an ONNX TensorProto"});
}

/// A TensorProto by hand: dims 4 and 32, FLOAT, raw zeros.
TEST_F(SoapRun, TensorProto) {
  std::string proto("\x08\x04\x08\x20\x10\x01\x4a\x80\x04", 9);
  proto += std::string(512, '\0');
  std::ofstream(file("x.pb"), std::ios::binary) << proto;
  expect(0, one() + " --input=x=" + file("x.pb") + " --print=y:1",
         {"[0] 10.1"});
  // Truncated in its middle.
  std::ofstream(file("x.pb"), std::ios::binary) << proto.substr(0, 100);
  expect(2, one() + " --input=x=" + file("x.pb"), {"error: expected"});
}

TEST_F(SoapRun, NaNEqualsNothing) {
  std::string npy = file("nan.npy");
  expect(0, one() + " --input=x=zeros --output=y=" + npy);
  std::fstream f(npy, std::ios::in | std::ios::out | std::ios::binary);
  f.seekp(128);
  uint32_t nan = 0x7fc00000;
  f.write(reinterpret_cast<const char *>(&nan), 4);
  f.close();
  expect(1, one() + " --input=x=zeros --rtol=1e9 --expected=y=" + npy,
         {"1 elements are NaN"});
}

TEST_F(SoapRun, Json) {
  Outcome o = expect(0, file("two.so") +
                            " --json --print=y:3 --iterations=3 "
                            "--warmup=1 --compare=" +
                            one());
  json report = json::parse(o.text);
  EXPECT_EQ(report["devices"], 2);
  EXPECT_EQ(report["step"]["iterations"], 3);
  EXPECT_EQ(report["step"]["batch"], 4);
  EXPECT_TRUE(report["equal"]);
  EXPECT_EQ(report["outputs"][0]["elements"].size(), 3u);
  EXPECT_TRUE(report["compare"]["outputs"][0]["equal"]);
  json reduce = {{"kind", "all_reduce"},
                 {"phase", "step"},
                 {"devices", {0, 1}},
                 {"bytes", {160, 160}},
                 {"name", "row2"}};
  EXPECT_NE(
      std::find(report["movements"].begin(), report["movements"].end(), reduce),
      report["movements"].end())
      << report["movements"];

  json info = json::parse(expect(0, one() + " --info --json").text);
  EXPECT_EQ(info["fingerprint"], "0123456789abcdef");
  EXPECT_EQ(info["inputs"][0]["shape"], (std::vector<int>{4, 32}));
  EXPECT_EQ(info["simulated_ns"], 12345);
  EXPECT_EQ(info["kernels"].size(), 3u);
  json machine = json::parse(expect(0, "--list-devices").text);
  EXPECT_EQ(machine["devices"][0]["kind"], "cpu");
}

TEST_F(SoapRun, Info) {
  expect(0, file("two.so") + " --info",
         {"perceptron", "0123456789abcdef", "input        x: f32 [4,32]",
          "output       y: f32 [4,10]", "device 1", "simulated    0.012 ms",
          "Native native", "strategy     1 ops, order \"graph\""});
}

TEST_F(SoapRun, Timing) {
  expect(0, one() + " --iterations=5 --warmup=2",
         {"step: median", "over 5 steps", "samples/s"});
}

TEST_F(SoapRun, TraceAndProfile) {
  std::string trace = file("trace.json"), profile = file("profile.json");
  expect(0, file("two.so") + " --trace=" + trace + " --profile-ops=" + profile);
  json events = json::parse(std::ifstream(trace))["traceEvents"];
  std::set<std::pair<int, int>> tracks;
  int launches = 0;
  for (const json &e : events) {
    if (e["ph"] != "X")
      continue;
    tracks.emplace(e["pid"].get<int>(), e["tid"].get<int>());
    launches += e["cat"] == "launch";
    EXPECT_GE(e["dur"], 0);
  }
  EXPECT_EQ(tracks.size(), 4u); // Two devices, two streams.
  EXPECT_EQ(launches, 4);
  json costs = json::parse(std::ifstream(profile));
  EXPECT_EQ(costs["format"], "soap-costs");
  EXPECT_EQ(costs["device_kind"], "cpu");
  ASSERT_EQ(costs["entries"].size(), 3u);
  EXPECT_EQ(costs["entries"][0]["key"], "kernel0");
  EXPECT_GT(costs["entries"][0]["ns"], 0);
}

/// Tests that soap-run starts where the CPU backend or oneDNN is missing, and
/// says so.
TEST_F(SoapRun, MissingBackend) {
  namespace fs = std::filesystem;
  fs::path folder = fs::path(testing::TempDir()) / "soap-run-alone";
  fs::remove_all(folder);
  fs::create_directories(folder);
  fs::path runtime = SOAP_RUNTIME_LIBRARY, backend = SOAP_CPU_BACKEND;
  fs::copy(runtime, folder / runtime.filename());
  std::string here = "LD_LIBRARY_PATH=" + folder.string() + " ";
  expect(0, "--version", {"soap-run 0."}, here);
  expect(0, "--list-devices", {"libSOAPBackendCPU.so", "no such file"}, here);
  expect(2, one(),
         {"error: expected the CPU backend '", "no such file; install it"},
         here);

  fs::copy(backend, folder / backend.filename());
  expect(0, one(), {}, here);
  // Without the MPI transport, in a process that a launcher started.
  expect(2, one(),
         {"error: expected the MPI transport '", "no such file; install it"},
         here + "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 ");
  std::ofstream(folder / "libdnnl.so.2") << "no library";
  expect(
      2, one(),
      {"error: expected the CPU backend '", "libdnnl.so.2", "install oneDNN 2"},
      here);
  fs::remove_all(folder);
}
