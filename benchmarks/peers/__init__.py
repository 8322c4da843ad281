"""Steps of SOAP beside those of onnxruntime and OpenVINO."""

import os

# numpy's own products measure one core: set before numpy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
