"""Networks written with torch.nn alone."""

import torch
from torch import nn

from .network import Network, Sample, images, spread_statistics


def mlp(batch, steps):
    module = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 64), nn.SiLU(),
                           nn.Linear(64, 10), nn.LogSoftmax(dim=-1))
    return Sample(module, {"input": torch.randn(batch, 32)}, {"input": {0: "batch"}})


class Tagger(nn.Module):
    """An embedding, two bidirectional recurrent layers and a classifier of every step."""

    def __init__(self, layer):
        super().__init__()
        self.table = nn.Embedding(100, 32)
        self.recurrent = layer(32, 24, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(48, 10)

    def forward(self, words):
        states, _ = self.recurrent(self.table(words))
        return self.head(states)


def tagger(layer):
    def build(batch, steps):
        return Sample(Tagger(layer), {"words": torch.randint(0, 100, (batch, steps))},
                      {"words": {0: "batch", 1: "steps"}})
    return build


class StateOfLstm(nn.Module):
    """One direction, a given first state, and the last state as outputs."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(16, 24, num_layers=2)

    def forward(self, x, hidden, cell):
        y, (hidden, cell) = self.lstm(x, (hidden, cell))
        return y, hidden, cell


def lstm_state(batch, steps):
    inputs = {"x": torch.randn(steps, batch, 16), "hidden": torch.randn(2, batch, 24),
              "cell": torch.randn(2, batch, 24)}
    return Sample(StateOfLstm(), inputs,
                  {"x": {0: "steps", 1: "batch"}, "hidden": {1: "batch"}, "cell": {1: "batch"}})


class UNet(nn.Module):
    """Two levels down and up, group norms, and skipped connections."""

    def __init__(self, bilinear):
        super().__init__()
        self.first, self.second = self.block(3, 16), self.block(16, 32)
        self.bottom = self.block(32, 64)
        self.pool = nn.MaxPool2d(2)
        up = (lambda i, o: nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear"),
                                         nn.Conv2d(i, o, 1))) if bilinear else \
            (lambda i, o: nn.ConvTranspose2d(i, o, 2, stride=2))
        self.up2, self.up1 = up(64, 32), up(32, 16)
        self.merge2, self.merge1 = self.block(64, 32), self.block(32, 16)
        self.head = nn.Conv2d(16, 2, 1)

    @staticmethod
    def block(inputs, outputs):
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(4, outputs),
                             nn.LeakyReLU(0.1))

    def forward(self, x):
        first = self.first(x)
        second = self.second(self.pool(first))
        bottom = self.bottom(self.pool(second))
        up = self.merge2(torch.cat([self.up2(bottom), second], dim=1))
        return self.head(self.merge1(torch.cat([self.up1(up), first], dim=1)))


class Translator(nn.Module):
    """torch.nn.Transformer with a causal mask."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(100, 32)
        self.transformer = nn.Transformer(32, 4, 2, 2, 64, batch_first=True, activation="gelu")
        self.head = nn.Linear(32, 100)

    def forward(self, source, target):
        causal = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        out = self.transformer(self.table(source), self.table(target), tgt_mask=causal,
                               tgt_is_causal=True)
        return self.head(out)


def translator(batch, steps):
    inputs = {"source": torch.randint(0, 100, (batch, steps)),
              "target": torch.randint(0, 100, (batch, 4))}
    return Sample(Translator(), inputs,
                  {"source": {0: "batch", 1: "steps"}, "target": {0: "batch"}})


class Recommender(nn.Module):
    """Embeddings of several tables, their products in pairs, and an MLP (after DLRM)."""

    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(50, 16) for _ in range(4))
        self.bottom = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(26, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid())

    def forward(self, dense, sparse):
        features = self.bottom(dense)
        rows = [features] + [table(sparse[:, i]) for i, table in enumerate(self.tables)]
        stack = torch.stack(rows, dim=1)
        products = torch.bmm(stack, stack.transpose(1, 2))
        i, j = torch.tril_indices(5, 5, offset=-1)
        return self.top(torch.cat([features, products[:, i, j]], dim=1))


def recommender(batch, steps):
    return Sample(Recommender(), {"dense": torch.rand(batch, 13),
                                  "sparse": torch.randint(0, 50, (batch, 4))},
                  {"dense": {0: "batch"}, "sparse": {0: "batch"}})


class TemporalConvolutions(nn.Module):
    """Dilated causal convolutions over sequences with gates, as in WaveNet."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(4, 16, 1)
        self.layers = nn.ModuleList(nn.Conv1d(16, 32, 2, dilation=2**i) for i in range(3))
        self.head = nn.Conv1d(16, 8, 1)

    def forward(self, x):
        x = self.first(x)
        for i, layer in enumerate(self.layers):
            value, gate = layer(nn.functional.pad(x, (2**i, 0))).chunk(2, dim=1)
            x = x + torch.tanh(value) * torch.sigmoid(gate)
        return self.head(x)


def wavenet(batch, steps):
    return Sample(TemporalConvolutions(), {"x": torch.randn(batch, 4, 4 * steps)},
                  {"x": {0: "batch", 2: "samples"}})


class Generator(nn.Module):
    """The generator of a DCGAN."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.ConvTranspose2d(16, 64, 4, 1, 0), nn.BatchNorm2d(64), nn.ReLU(),
            nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh())

    def forward(self, z):
        return self.layers(z[:, :, None, None])


def dcgan(batch, steps):
    return Sample(spread_statistics(Generator()), {"z": torch.randn(batch, 16)},
                  {"z": {0: "batch"}})


class SuperResolution(nn.Module):
    """Convolutions and a pixel shuffle, with PReLU and instance norms."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 16, 5, padding=2, padding_mode="reflect"), nn.PReLU(16),
            nn.InstanceNorm2d(16, affine=True), nn.Conv2d(16, 12, 3, padding=1),
            nn.Hardswish(), nn.PixelShuffle(2), nn.Conv2d(3, 1, 3, padding=1))

    def forward(self, x):
        return self.layers(x)


class Sampler(nn.Module):
    """A spatial transformer network: an affine grid, sampled bilinearly."""

    def __init__(self):
        super().__init__()
        self.where = nn.Sequential(nn.Conv2d(3, 8, 5, stride=4), nn.ReLU(),
                                   nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 6))

    def forward(self, x):
        theta = self.where(x).reshape(-1, 2, 3)
        grid = nn.functional.affine_grid(theta, [x.shape[0], 3, 32, 32], align_corners=False)
        return nn.functional.grid_sample(x, grid, align_corners=False)


class Embedder(nn.Module):
    """A sentence encoder: means over the words that a mask leaves, of length 1."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(100, 32, padding_idx=0)
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, words):
        padding = words == 0
        states = self.encoder(self.table(words), src_key_padding_mask=padding)
        states = states.masked_fill(padding[..., None], 0.0)
        mean = states.sum(1) / (~padding).sum(1, keepdim=True)
        return nn.functional.normalize(mean, dim=-1)


def embedder(batch, steps):
    words = torch.randint(1, 100, (batch, steps))
    words[-1, steps - 3:] = 0
    return Sample(Embedder(), {"words": words}, {"words": {0: "batch", 1: "steps"}})


NETWORKS = [
    Network("mlp", "PyTorch", mlp),
    Network("lstm_tagger", "PyTorch", tagger(nn.LSTM)),
    Network("gru_tagger", "PyTorch", tagger(nn.GRU)),
    Network("rnn_tagger", "PyTorch", tagger(nn.RNN)),
    Network("lstm_state", "PyTorch", lstm_state),
    Network("unet", "PyTorch", lambda batch, steps: images(UNet(False), batch, 32)),
    Network("unet_bilinear", "PyTorch", lambda batch, steps: images(UNet(True), batch, 32)),
    Network("nn_transformer", "PyTorch", translator),
    Network("sentence_encoder", "PyTorch", embedder),
    Network("dlrm", "PyTorch", recommender),
    Network("wavenet", "PyTorch", wavenet),
    Network("dcgan_generator", "PyTorch", dcgan),
    Network("super_resolution", "PyTorch",
            lambda batch, steps: images(SuperResolution(), batch, 16, channels=1)),
    Network("spatial_transformer", "PyTorch", lambda batch, steps: images(Sampler(), batch, 32)),
]
