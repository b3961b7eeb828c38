"""Record the example profiles of a small residual CNN: python cnn.py [BATCH ...]   (default 4 8)

2.8 million parameters, images of 96 x 96, 100 classes, SGD with momentum, float32. Needs torch only.
"""
import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from record import record

IMAGES, SIZE, CLASSES = 192, 96, 100


class Block(nn.Module):
    """Two 3x3 convolutions and a shortcut."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        out = self.relu(self.norm1(self.conv1(x)))
        out = self.norm2(self.conv2(out))
        return self.relu(out + self.shortcut(x))


class SmallResNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
                                  nn.MaxPool2d(2))
        self.blocks = nn.Sequential(Block(64, 64, 1), Block(64, 64, 1), Block(64, 128, 2), Block(128, 128, 1),
                                    Block(128, 256, 2), Block(256, 256, 1))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(256, classes)

    def forward(self, x):
        return self.head(torch.flatten(self.pool(self.blocks(self.stem(x))), 1))


torch.manual_seed(0)
dataset = TensorDataset(torch.randn(IMAGES, 3, SIZE, SIZE), torch.randint(CLASSES, (IMAGES,)))


def build(batch_size):
    model = SmallResNet(CLASSES)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    batches = iter(DataLoader(dataset, batch_size=batch_size, shuffle=True))

    def step():
        images, labels = next(batches)
        optimizer.zero_grad()
        output = model(images)
        loss = F.cross_entropy(output, labels)
        loss.backward()
        optimizer.step()

    return step


if __name__ == "__main__":
    record(build, batch_sizes=[int(n) for n in sys.argv[1:]] or [4, 8], out="cnn")
