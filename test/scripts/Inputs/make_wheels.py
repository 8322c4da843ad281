"""Wheels with the layout of NVIDIA's: headers, libraries and metadata."""

import pathlib
import sys
import zipfile

PACKAGES = {
    "nvidia_cuda_runtime": ["cu13/include/cuda.h", "cu13/include/cuda_runtime_api.h",
                            "cu13/lib/libcudart.so.13"],
    "nvidia_cuda_crt": ["cu13/include/crt/host_defines.h"],
    "nvidia_cublas": ["cu13/include/cublasLt.h", "cu13/lib/libcublasLt.so.13"],
    "nvidia_cudnn": ["cudnn/include/cudnn.h", "cudnn/lib/libcudnn.so.9"],
    "nvidia_nccl": ["nccl/include/nccl.h", "nccl/lib/libnccl.so.2"],
}

for name, files in PACKAGES.items():
    with zipfile.ZipFile(pathlib.Path(sys.argv[1], f"{name}.whl"), "w") as wheel:
        for file in files:
            wheel.writestr(f"nvidia/{file}", "a header\n")
        wheel.writestr(f"{name}.dist-info/METADATA", "Name: " + name)
