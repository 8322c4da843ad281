"""Small networks in PyTorch: each is a module, its input, and labels with the axis of classes."""

import math

import torch
from torch import nn


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(),
            nn.AvgPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(),
            nn.Linear(84, 10))

    def forward(self, x):
        return self.features(x)


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 1, 1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.blocks = nn.Sequential(Block(8, 8, 1), Block(8, 16, 2), Block(16, 32, 2))
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.norm(self.stem(x))), 3, 2, 1)
        return self.head(self.blocks(x).mean((2, 3)))


class Recurrent(nn.Module):
    """A language model: embedding, LSTM, and scores of the next word."""

    def __init__(self, words=50, width=24):
        super().__init__()
        self.table = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        return self.head(self.lstm(self.table(tokens))[0])


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).reshape(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        scores = q @ k.transpose(-1, -2) / math.sqrt(width // self.heads)
        hidden = torch.full((length, length), -1e9, dtype=x.dtype).triu(1)
        mixed = (scores + hidden).softmax(-1) @ v
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT(nn.Module):
    """GPT-2's architecture."""

    def __init__(self, layers=2, width=32, heads=4, words=50, length=16):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Parameter(0.1 * torch.randn(length, width))
        self.layers = nn.Sequential(*[Attention(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        return self.head(self.norm(self.layers(self.words(tokens) + self.places)))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
        self.middle = nn.Conv2d(16, 32, 3, padding=1)
        self.up2, self.join2 = nn.ConvTranspose2d(32, 16, 2, 2), nn.Conv2d(32, 16, 3, padding=1)
        self.up1, self.join1 = nn.ConvTranspose2d(16, 8, 2, 2), nn.Conv2d(16, 8, 3, padding=1)
        self.head = nn.Conv2d(8, 4, 1)

    def forward(self, x):
        a = torch.relu(self.down1(x))
        b = torch.relu(self.down2(nn.functional.max_pool2d(a, 2)))
        c = torch.relu(self.middle(nn.functional.max_pool2d(b, 2)))
        b = torch.relu(self.join2(torch.cat([self.up2(c), b], 1)))
        return self.head(torch.relu(self.join1(torch.cat([self.up1(b), a], 1))))


def small(name):
    """A network, its input, its labels, and the axis of classes."""
    torch.manual_seed(3)
    images = lambda channels, size: torch.randn(4, channels, size, size)
    words = lambda: torch.randint(0, 50, (4, 16))
    if name == "lenet":
        return LeNet(), images(1, 28), torch.randint(0, 10, (4,)), 1
    if name == "resnet":
        return ResNet(), images(3, 16), torch.randint(0, 10, (4,)), 1
    if name == "lstm":
        return Recurrent(), words(), words(), 2
    if name == "gpt":
        return GPT(), words(), words(), 2
    return UNet(), images(3, 16), torch.randint(0, 4, (4, 16, 16)), 1


class MLP(nn.Module):
    def __init__(self, width=2048):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(784, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                                    nn.Linear(width, 10))

    def forward(self, x):
        return self.layers(x)


def large(name, batch):
    """The same for networks whose steps are timed; they need torchvision."""
    torch.manual_seed(3)
    words = lambda count, length: torch.randint(0, count, (batch, length))
    if name == "mlp":
        return MLP(), torch.randn(batch, 784), torch.randint(0, 10, (batch,)), 1
    if name == "lstm":
        return Recurrent(10000, 650), words(10000, 35), words(10000, 35), 2
    if name == "gpt2":
        return GPT(2, 768, 12, 50257, 128), words(50257, 128), words(50257, 128), 2
    import torchvision
    model = getattr(torchvision.models, name)()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return model, torch.randn(batch, 3, 224, 224), torch.randint(0, 1000, (batch,)), 1


LARGE = ["mlp", "lstm", "gpt2", "resnet50", "vgg19"]
SMALL = ["lenet", "resnet", "lstm", "gpt", "unet"]
