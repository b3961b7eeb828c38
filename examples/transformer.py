"""Record the example profiles of a small GPT-like decoder:

    python transformer.py [BATCH ...]      (default 4 8)
    python transformer.py --scheduled      the same job in the profiler's usual style, as in PyTorch's tutorials

5.3 million parameters (4 layers, width 256, 4 heads, vocabulary 8,192, head tied to the embedding), 128 tokens, dropout 0.1,
AdamW, float32. Needs torch only.
"""
import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.data import DataLoader, TensorDataset

from record import record

SEQUENCES, TOKENS, VOCABULARY, WIDTH, HEADS, LAYERS, DROPOUT = 192, 128, 8192, 256, 4, 4, 0.1


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = (t.view(batch, tokens, HEADS, width // HEADS).transpose(1, 2) for t in self.qkv(x).split(width, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=DROPOUT if self.training else 0.0, is_causal=True)
        return self.dropout(self.out(y.transpose(1, 2).reshape(batch, tokens, width)))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.norm2 = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH, bias=False), nn.GELU(),
                                 nn.Linear(4 * WIDTH, WIDTH, bias=False), nn.Dropout(DROPOUT))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(TOKENS, WIDTH)
        self.dropout = nn.Dropout(DROPOUT)
        self.layers = nn.Sequential(*(Layer() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1], device=ids.device))
        return self.head(self.norm(self.layers(self.dropout(x))))


torch.manual_seed(0)
text = torch.randint(VOCABULARY, (SEQUENCES, TOKENS + 1))
dataset = TensorDataset(text[:, :-1], text[:, 1:])


def build(batch_size):
    model = Decoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.1)
    batches = iter(DataLoader(dataset, batch_size=batch_size, shuffle=True))

    def step():
        inputs, targets = next(batches)
        optimizer.zero_grad()
        logits = model(inputs)
        loss = F.cross_entropy(logits.view(-1, VOCABULARY), targets.reshape(-1))
        loss.backward()
        optimizer.step()

    return step


def record_scheduled(batch_size=4):
    """A file as many people have one already: the model is made before the profile, and the first two steps are not in it."""
    step = build(batch_size)
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=3), record_shapes=True,
                 profile_memory=True) as prof:
        for _ in range(5):
            step()
            prof.step()
    prof.export_chrome_trace("transformer-b%d-scheduled.json.gz" % batch_size)


if __name__ == "__main__":
    if sys.argv[1:] == ["--scheduled"]:
        record_scheduled()
    else:
        record(build, batch_sizes=[int(n) for n in sys.argv[1:]] or [4, 8], out="transformer")
