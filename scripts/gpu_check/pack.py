"""Makes the archive: programs, compiled models, and what the CPU computed."""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

from compiled import Compiler, Refused
import graph_cases
import network_cases
import product_cases

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_BYTES = 60 << 20
PROGRAMS = {"bin": ["bin/soap-run"],
            "lib": ["lib/libSOAPRuntime.so", "lib/libSOAPBackendCUDA.so"],
            "tests": ["unittests/SOAPRuntimeTests", "unittests/SOAPCudaOverStandIns"]}
# Every machine has them, and the driver needs its own.
OF_THE_SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s))\.so.*")
JOBS = 2
# Of the strategies, so many also run under NCCL and under compute-sanitizer.
OVER_NCCL, SANITIZED = 24, 8


class PackError(Exception):
    """The archive cannot be made; says why."""


def libraries_of(file):
    """The shared libraries that a program needs beside those of the system and of SOAP."""
    output = subprocess.run(["ldd", file], capture_output=True, text=True, check=True)
    for name, place in re.findall(r"^\s*(\S+) => (\S+)", output.stdout, re.MULTILINE):
        if place == "not":
            raise PackError(f"expected {name}, which {file} needs, got: none")
        if not OF_THE_SYSTEM.fullmatch(name):
            yield name, place


def copy_programs(build, folder):
    """Programs, plug-ins and their libraries, all of the latter in lib."""
    for place, files in PROGRAMS.items():
        (folder / place).mkdir(parents=True, exist_ok=True)
        for file in files:
            source = build / file
            if not source.exists():
                raise PackError(f"expected {source}, got: none; build it (targets soap-run, "
                                "SOAPBackendCUDA and the tests of the runtime)")
            copied = shutil.copy(source.resolve(), folder / place / source.name)
            for name, library in libraries_of(source):
                if not (folder / "lib" / name).exists():
                    (folder / "lib").mkdir(exist_ok=True)
                    shutil.copy(pathlib.Path(library).resolve(), folder / "lib" / name)
            subprocess.run(["strip", "--strip-unneeded", copied], check=False,
                           capture_output=True)
    here = pathlib.Path(__file__).parent
    shutil.copy(here.parent / "gpu-check.sh", folder)
    (folder / "gpu_check").mkdir()
    for name in ("__main__", "checks", "figures", "machine", "runner", "torch_step"):
        shutil.copy(here / f"{name}.py", folder / "gpu_check")


def commit():
    output = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"],
                            capture_output=True, text=True)
    return output.stdout.strip() or "no commit"


def names(text, known, others=()):
    """The value of --networks or --measured: all are those that are known."""
    chosen = {"all": list(known), "none": []}.get(text, text.split(","))
    for name in chosen:
        if name not in (*known, *others):
            raise PackError(f"expected one of {', '.join((*known, *others))}, got: {name}")
    return chosen


PRECISIONS = ("f32", "tf32", "bf16", "f16")


def numbers(text):
    """The value of --batches."""
    if not re.fullmatch(r"[1-9]\d*(,[1-9]\d*)*", text):
        raise PackError(f"expected batch sizes such as 1,64, got: {text}")
    return [int(word) for word in text.split(",")]


def compile_all(jobs):
    """Runs functions of no arguments, in order; what each returns, without those
    that the compiler refused."""
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        futures = [pool.submit(job) for job in jobs]
        items = []
        for future in futures:
            try:
                items += future.result()
            except Refused as reason:
                print(f"left out: {reason}", file=sys.stderr)
    return items


def make_manifest(arguments, compiler):
    networks = names(arguments.networks, network_cases.CHECKED)
    measured = names(arguments.measured, network_cases.MEASURED, network_cases.TRIED)
    batches = numbers(arguments.batches)
    precisions = names(arguments.precisions, PRECISIONS)
    kernels = compile_all(graph_cases.kernel_jobs(compiler, arguments.kernels))
    strategies = compile_all(graph_cases.strategy_jobs(compiler, arguments.strategies))
    products = compile_all(product_cases.product_jobs(compiler, arguments.products))
    networks = compile_all(network_cases.check_jobs(compiler, networks))
    figures = compile_all(network_cases.figure_jobs(compiler, measured, batches,
                                                     precisions))
    checks = {"kernels": kernels, "products": products, "networks": networks, "strategies": strategies,
              "nccl": [item for item in strategies if item["collectives"]][:OVER_NCCL],
              "sanitizer": (kernels + strategies)[:SANITIZED]}
    manifest = {"commit": commit(), "checks": checks, "figures": figures}
    digest = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode())
    for file in sorted((compiler.folder / "models").glob("*.so")):
        digest.update(file.read_bytes())
    return {**manifest, "digest": digest.hexdigest()[:12]}


def write_archive(folder, target):
    """Models are alike, so that sorting them by kind makes the archive smaller."""
    temporary = target.with_name(target.name + ".part")
    with tarfile.open(temporary, "w:xz", preset=6) as archive:
        archive.add(folder, "gpu-check")
    os.replace(temporary, target)
    return target.stat().st_size


def make(arguments):
    build = pathlib.Path(arguments.build).resolve()
    target = pathlib.Path(arguments.pack).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch, "gpu-check")
        try:
            copy_programs(build, folder)
            compiler = Compiler(build, folder, pathlib.Path(scratch))
            manifest = make_manifest(arguments, compiler)
        except PackError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
        (folder / "manifest.json").write_text(json.dumps(manifest, indent=1))
        size = write_archive(folder, target)
    counts = ", ".join(f"{len(items)} of {group}"
                       for group, items in manifest["checks"].items())
    print(f"{target}: {size / 2**20:.1f} MiB, {counts}, {len(manifest['figures'])} figures")
    if size > MOST_BYTES:
        print(f"error: expected at most {MOST_BYTES} bytes, got: {size}", file=sys.stderr)
        return 1
    return 0
