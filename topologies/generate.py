#!/usr/bin/env python3
# Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the topology files of published clusters beside this script.

Usage: topologies/generate.py [FOLDER]
"""

import json
import pathlib
import sys

GB = 1e9
KINDS = {
    "P100-SXM2": dict(peak_flops=9.0e12, memory_bandwidth_bytes_per_s=585 * GB,
                      half_rows=192, half_columns=16, half_depth=24, launch_s=6e-6),
    "K80": dict(peak_flops=3.0e12, memory_bandwidth_bytes_per_s=168 * GB,
                half_rows=128, half_columns=16, half_depth=24, launch_s=8e-6),
    "V100-SXM2": dict(peak_flops=13.3e12, memory_bandwidth_bytes_per_s=720 * GB,
                      half_rows=256, half_columns=16, half_depth=24, launch_s=5e-6),
}
KIND_COMMENT = (
    "peak_flops is about 85% of the published fp32 peak (K80: between base and boost clock), "
    "memory bandwidth 70-80% of the published one; half_* and launch_s are assumptions"
)


def topology(name, kind, nodes, per_node, memory_gib, comment):
    devices = [
        {"id": node * per_node + i, "kind": kind, "node": node, "memory_bytes": memory_gib << 30}
        for node in range(nodes)
        for i in range(per_node)
    ]
    return {
        "format": "soap-topology",
        "name": name,
        "comment": [KIND_COMMENT] + comment,
        "kinds": {kind: KINDS[kind]},
        "devices": devices + [{"id": len(devices), "kind": "host"}],
        "links": [],
    }


def duplex(result, a, b, gigabytes, latency):
    """One link in each direction, each a resource of its own."""
    result["links"].append({"from": a, "to": b, "bandwidth_bytes_per_s": gigabytes * GB,
                            "latency_s": latency, "duplex": True})


def p100(nodes):
    name, size = ("p100-cluster", "4 nodes x 4 P100") if nodes > 1 else (
        "p100-node", "one node of 4 P100")
    result = topology(name, "P100-SXM2", nodes, 4, 16, [
        f"{size} (Jia et al., 'Beyond data and model parallelism', figure 6)",
        "assumed: every pair of a node has one NVLink1 of 20 GB/s per direction",
        "assumed: a GPU reaches the network card over PCIe3 x16, 12 GB/s; EDR InfiniBand is "
        "100 Gb/s = 12.5 GB/s per node and direction; latencies 2, 3 and 2 microseconds",
    ])
    for node in range(nodes):
        first, pcie = 4 * node, f"node{node}.pcie"
        for a in range(4):
            for b in range(a):
                duplex(result, first + b, first + a, 20, 2e-6)
            duplex(result, first + a, pcie, 12, 3e-6)
        if nodes > 1:
            duplex(result, pcie, "infiniband", 12.5, 2e-6)
        duplex(result, pcie, "host", 12, 3e-6)
    return result


def k80():
    result = topology("k80-cluster", "K80", 16, 4, 12, [
        "16 nodes x 4 K80 devices (Jia et al., 'Beyond data and model parallelism', figure 6)",
        "adjacent devices share a PCIe switch, all four share the host's switch",
        "assumed: every PCIe segment 10 GB/s per direction; InfiniBand 56 Gb/s = 7 GB/s per node "
        "and direction; latencies 3, 3 and 2 microseconds",
    ])
    for node in range(16):
        root = f"node{node}.root"
        for pair in range(2):
            switch = f"node{node}.switch{pair}"
            for i in range(2):
                duplex(result, 4 * node + 2 * pair + i, switch, 10, 3e-6)
            duplex(result, switch, root, 10, 3e-6)
        duplex(result, root, "infiniband", 7, 2e-6)
        duplex(result, root, "host", 10, 3e-6)
    return result


# NVLinks between the GPUs of one server: the hybrid cube mesh.
CUBE_MESH = [(0, 1, 1), (0, 2, 1), (0, 3, 2), (0, 4, 2), (1, 2, 2), (1, 3, 1), (1, 5, 2), (2, 3, 2),
             (2, 6, 1), (3, 7, 1), (4, 5, 1), (4, 6, 1), (4, 7, 2), (5, 6, 2), (5, 7, 1), (6, 7, 2)]


def v100(servers):
    result = topology(f"v100-{servers}x8" if servers > 1 else "v100-8", "V100-SXM2", servers, 8, 16, [
        "servers of 8 V100-16GB with NVLink (Yi et al., 'Fast training of deep learning models over "
        "multiple GPUs')",
        "assumed: hybrid cube mesh, 25 GB/s per NVLink2 and direction; pairs without a link go over "
        "PCIe3 x16, 12 GB/s",
        "assumed: servers are connected by 100 Gb/s = 12.5 GB/s per direction (not stated in the paper)",
    ])
    for server in range(servers):
        first, pcie = 8 * server, f"node{server}.pcie"
        for a, b, links in CUBE_MESH:
            duplex(result, first + a, first + b, 25 * links, 2e-6)
        for i in range(8):
            duplex(result, first + i, pcie, 12, 3e-6)
        duplex(result, pcie, "host", 12, 3e-6)
        if servers > 1:
            duplex(result, pcie, "network", 12.5, 2e-6)
    return result


def write(folder, result):
    """One device or link per line."""
    lines = ["{"]
    for key in ("format", "name", "comment", "kinds"):
        lines.append(f"  {json.dumps(key)}: {json.dumps(result[key])},")
    for key, end in (("devices", ","), ("links", "")):
        lines.append(f"  {json.dumps(key)}: [")
        lines.append(",\n".join("    " + json.dumps(entry) for entry in result[key]))
        lines.append("  ]" + end)
    lines.append("}")
    (folder / (result["name"] + ".json")).write_text("\n".join(lines) + "\n")


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    for result in (p100(4), p100(1), k80(), v100(1), v100(2)):
        write(folder, result)


if __name__ == "__main__":
    main()
