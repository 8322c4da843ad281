"""Networks of timm, at small images."""

import functools

import timm

from .network import Network, images, spread_statistics

# name: (image size, options of timm.create_model)
MODELS = {
    "beit_base_patch16_224": (64, {"img_size": 64, "depth": 2, "embed_dim": 64, "num_heads": 4}),
    "cait_xxs24_224": (64, {"img_size": 64, "depth": 2}),
    "coat_tiny": (64, {"img_size": 64}),
    "convmixer_768_32": (64, {}),
    "convnextv2_atto": (64, {}),
    "deit_tiny_distilled_patch16_224": (64, {"img_size": 64, "depth": 2}),
    "edgenext_xx_small": (64, {}),
    "ghostnet_100": (64, {}),
    "levit_128s": (224, {}),
    "mixer_s32_224": (64, {"img_size": 64}),
    "mobilevit_xxs": (64, {}),
    "nfnet_l0": (64, {}),
    "poolformer_s12": (64, {}),
    "repvgg_a0": (64, {}),
    "xcit_nano_12_p16_224": (64, {"img_size": 64, "depth": 2}),
}


# Of these PyTorch's exporter cannot export the fused attention.
EAGER = {"beit_base_patch16_224"}


def classifier(name, size, options, batch, steps):
    module = timm.create_model(name, pretrained=False, num_classes=10, **options)
    for part in module.modules():
        if name in EAGER and hasattr(part, "fused_attn"):
            part.fused_attn = False
    return images(spread_statistics(module), batch, size)


NETWORKS = [Network(name, "timm", functools.partial(classifier, name, *how))
            for name, how in MODELS.items()]
