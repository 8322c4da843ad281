"""Counts the links of a topology file."""

import json
import sys

with open(sys.argv[1]) as file:
    links = json.load(file)["links"]
print(len(links), "links, all positive:",
      all(link["bandwidth_bytes_per_s"] > 0 and link["latency_s"] >= 0 for link in links))
