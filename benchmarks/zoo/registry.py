"""The networks by name: who builds them, with which sizes, and where these are from."""

import dataclasses
import inspect
import typing

from .models import (alexnet, bert, dlrm, gpt2, inception, lenet, llama, nmt, resnet, rnn,
                     transformer, unet, vgg, vit)


@dataclasses.dataclass(frozen=True)
class Network:
    name: str
    builder: typing.Callable
    source: str  # Author, year.
    options: dict = dataclasses.field(default_factory=dict)  # Of the builder.
    seq: int | None = None  # Steps where --seq is not given; none without.
    # Samples per step: of the paper that has it as a benchmark (FlexFlow: Jia et al., 2019,
    # section 8.1; FastT: Yi et al., 2020, table 1), else of the publication.
    batch: int = 1
    minimum_opset: int = 9  # ConstantOfShape.

    def builder_options(self):
        """The sizes that the builder takes, by name."""
        parameters = inspect.signature(self.builder).parameters.values()
        return {p.name: self.options.get(p.name, p.default) for p in parameters
                if p.name not in ("g", "seq")}

    def option(self, option, value):
        """The value as the builder takes it. Raises ValueError if it does not."""
        known = self.builder_options()
        if not known:
            raise ValueError(f"expected no option for {self.name}, got: {option}")
        if option not in known:
            raise ValueError(f"expected an option of {', '.join(known)} for {self.name}, "
                             f"got: {option}")
        like = known[option]
        if isinstance(like, bool):
            fits, wanted = value in (0, 1), "0 or 1"
        elif isinstance(like, tuple):
            value = tuple(value) if isinstance(value, (tuple, list)) else (value,)
            fits = value and all(map(is_size, value))
            wanted = "sizes of at least 1, separated by commas"
        else:
            fits, wanted = is_size(value), "a size of at least 1"
        if not fits:
            raise ValueError(f"expected {wanted} for {option}, got: {value}")
        return value


def is_size(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


RESNET50 = {"blocks": (3, 4, 6, 3)}
RESNET101 = {"blocks": (3, 4, 23, 3)}
RESNET200 = {"blocks": (3, 24, 36, 3), "identity_mappings": True}
BERT_LARGE = {"layers": 24, "features": 1024, "heads": 16}
GPT2_MEDIUM = {"layers": 24, "features": 1024, "heads": 16}

NETWORKS = {network.name: network for network in (
    # The FlexFlow paper.
    Network("lenet5", lenet.build, "LeCun et al., 1998", batch=256),
    Network("alexnet", alexnet.build, "Krizhevsky et al., 2012", batch=256),
    Network("inception_v3", inception.build, "Szegedy et al., 2016", batch=64),
    Network("inception_v3_aux", inception.build, "Szegedy et al., 2016",
            {"auxiliary_head": True}, batch=64),
    Network("resnet101", resnet.build, "He et al., 2016", RESNET101, batch=64),
    Network("rnntc", rnn.build_classifier, "Jia et al., 2019; Kim, 2014", seq=40,
            batch=64),
    Network("rnnlm", rnn.build_language_model, "Jia et al., 2019; Zaremba et al., 2014",
            seq=40, batch=64),
    Network("rnnlm_2steps", rnn.build_language_model, "Jia et al., 2019", seq=2,
            batch=64),
    Network("nmt", nmt.build, "Jia et al., 2019; Wu et al., 2016", seq=40, batch=64),
    # The FastT paper.
    Network("vgg19", vgg.build, "Simonyan and Zisserman, 2015", batch=64),
    Network("resnet200", resnet.build, "He et al., 2016, identity mappings", RESNET200,
            batch=32),
    Network("gnmt", nmt.build_gnmt, "Wu et al., 2016", seq=40, batch=128),
    Network("transformer", transformer.build, "Vaswani et al., 2017", seq=64, batch=64),
    Network("bert_large", bert.build, "Devlin et al., 2019", BERT_LARGE, seq=64,
            batch=16),
    # Today's.
    Network("resnet50", resnet.build, "He et al., 2016", RESNET50, batch=256),
    Network("bert_base", bert.build, "Devlin et al., 2019", seq=128, batch=256),
    Network("gpt2_small", gpt2.build, "Radford et al., 2019", seq=1024, batch=512),
    Network("gpt2_medium", gpt2.build, "Radford et al., 2019", GPT2_MEDIUM, seq=1024,
            batch=512),
    Network("vit_b16", vit.build, "Dosovitskiy et al., 2021", batch=4096),
    Network("llama_7b", llama.build, "Touvron et al., 2023", seq=2048, batch=2048),
    Network("dlrm", dlrm.build, "Naumov et al., 2019", batch=128),
    Network("unet", unet.build, "Ronneberger et al., 2015", batch=1),
    Network("unet_resize", unet.build, "Ronneberger et al., 2015", {"resize": True}, batch=1),
)}
