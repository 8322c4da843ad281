"""Networks of torchvision: classification, segmentation, detection, optical flow and video."""

import functools

import torch
import torchvision
from torchvision.models import detection, segmentation, video

from .network import Network, Sample, images, spread_statistics

CLASSES = 10
# Image sizes where a network does not take 64 x 64, or vanishes in front of its classifier.
CLASSIFIERS = {
    "alexnet": 224,
    "convnext_tiny": 64,
    "densenet121": 64,
    "efficientnet_b0": 64,
    "googlenet": 64,
    "mnasnet0_5": 64,
    "mobilenet_v2": 64,
    "mobilenet_v3_small": 64,
    "regnet_y_400mf": 64,
    "resnet18": 64,
    "resnet50": 64,
    "shufflenet_v2_x0_5": 64,
    "squeezenet1_1": 64,
    "swin_t": 64,
    "swin_v2_t": 64,
    "vgg11_bn": 64,
}


def classifier(name, size, batch, steps):
    options = {"weights": None, "num_classes": CLASSES}
    if name == "googlenet":
        options |= {"init_weights": True, "aux_logits": False}
    module = torchvision.models.get_model(name, **options)
    return images(spread_statistics(module), batch, size)


def vit(batch, steps):
    module = torchvision.models.VisionTransformer(
        image_size=64, patch_size=16, num_layers=2, num_heads=4, hidden_dim=64, mlp_dim=128,
        num_classes=CLASSES)
    # The classifier starts with zeros.
    torch.nn.init.normal_(module.heads.head.weight, std=0.1)
    return images(module, batch, 64)


class Output(torch.nn.Module):
    """The entry "out" of a module that returns a dictionary, as users export segmentation."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x)["out"]


def segmenter(name, batch, steps):
    build = getattr(segmentation, name)
    module = build(weights=None, weights_backbone=None, num_classes=CLASSES)
    return images(Output(spread_statistics(module)), batch, 64)


class Features(torch.nn.Module):
    """The feature maps of a detector's backbone, as a tuple."""

    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone

    def forward(self, x):
        return tuple(self.backbone(x).values())


def pyramid(batch, steps):
    backbone = detection.backbone_utils.resnet_fpn_backbone(
        backbone_name="resnet18", weights=None, norm_layer=torch.nn.BatchNorm2d)
    return images(Features(spread_statistics(backbone)), batch, 64)


class Head(torch.nn.Module):
    """A detector from images to what its heads say for each anchor, before boxes are selected."""

    def __init__(self, detector):
        super().__init__()
        self.backbone, self.head = detector.backbone, detector.head

    def forward(self, x):
        maps = self.backbone(x)
        found = self.head(list(maps.values()) if isinstance(maps, dict) else [maps])
        return tuple(found.values())


def detector(name, size, batch, steps):
    build = getattr(detection, name)
    module = build(weights=None, weights_backbone=None, num_classes=4)
    return images(Head(spread_statistics(module)), batch, size)


class Boxes(torch.nn.Module):
    """A whole detector: as many boxes as it finds, so that shapes depend on data."""

    def __init__(self, whole):
        super().__init__()
        self.whole = whole

    def forward(self, x):
        found = self.whole(list(x))[0]
        return found["boxes"], found["labels"], found["scores"]


def faster_rcnn(batch, steps):
    module = detection.fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None,
                                                             num_classes=4)
    return Sample(spread_statistics(Boxes(module)), {"x": torch.rand(1, 3, 96, 96)}, {})


def flow(batch, steps):
    module = torchvision.models.optical_flow.raft_small(weights=None)

    class LastFlow(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.raft = module

        def forward(self, first, second):
            return self.raft(first, second, num_flow_updates=2)[-1]

    frames = {name: torch.rand(batch, 3, 128, 128) * 2 - 1 for name in ("first", "second")}
    return Sample(spread_statistics(LastFlow()), frames,
                  {name: {0: "batch"} for name in frames})


def clips(batch, steps):
    module = video.r3d_18(weights=None, num_classes=CLASSES)
    return Sample(spread_statistics(module), {"x": torch.randn(batch, 3, 8, 32, 32)},
                  {"x": {0: "batch"}})


NETWORKS = [Network(name, "torchvision", functools.partial(classifier, name, size))
            for name, size in CLASSIFIERS.items()]
NETWORKS += [Network(name, "torchvision", functools.partial(segmenter, name))
             for name in ("fcn_resnet50", "deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large")]
NETWORKS += [
    Network("vit", "torchvision", vit),
    Network("resnet18_fpn", "torchvision", pyramid),
    Network("ssdlite320_heads", "torchvision",
            functools.partial(detector, "ssdlite320_mobilenet_v3_large", 320)),
    Network("retinanet_heads", "torchvision",
            functools.partial(detector, "retinanet_resnet50_fpn", 64)),
    Network("fcos_heads", "torchvision", functools.partial(detector, "fcos_resnet50_fpn", 64)),
    Network("fasterrcnn", "torchvision", faster_rcnn),
    Network("raft_small", "torchvision", flow),
    Network("r3d_18", "torchvision", clips),
]
