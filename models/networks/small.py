"""Small models for what else 3D networks hold: each gathers the forms of one subject as separate outputs.

Sizes are pairwise different, so that a swapped axis cannot go unseen.
"""

import torch
import torch.nn.functional as F
from torch import nn

Outputs = tuple[torch.Tensor, ...]


def seed_convolution() -> nn.Module:
    """A filter that is long in D and H and flat in W (iree-org/iree#20139). [N, 1, D, H, W] to [N, 16, D, H, W]."""
    return nn.Conv3d(1, 16, (9, 9, 1), padding=(4, 4, 0))


class Branches(nn.Module):
    """Applies each layer to the one input; the outputs are the results in order."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: torch.Tensor) -> Outputs:
        return tuple(layer(x) for layer in self.layers)


def normalizations() -> nn.Module:
    """[N, 12, D, H, 7] float32."""
    return Branches(
        nn.GroupNorm(4, 12),
        nn.GroupNorm(1, 12),
        nn.GroupNorm(12, 12, affine=False),
        nn.InstanceNorm3d(12, affine=True),
        nn.InstanceNorm3d(12),
        nn.BatchNorm3d(12),
        nn.LayerNorm(7),
        nn.LayerNorm((5, 7), elementwise_affine=False),
        nn.RMSNorm(7),
        nn.LocalResponseNorm(3),
    )


def activations() -> nn.Module:
    """[N, 6, D, H, W] float32."""
    return Branches(
        nn.PReLU(),
        nn.PReLU(6),
        nn.GELU(),
        nn.GELU(approximate="tanh"),
        nn.ELU(0.7),
        nn.CELU(1.3),
        nn.SELU(),
        nn.SiLU(),
        nn.Mish(),
        nn.Hardswish(),
        nn.Hardsigmoid(),
        nn.Hardtanh(-0.5, 0.75),
        nn.Softplus(beta=1.5),
        nn.Softsign(),
        nn.Tanh(),
        nn.Sigmoid(),
        nn.LogSigmoid(),
        nn.Softmax(dim=1),
        nn.LogSoftmax(dim=3),
    )


class NearestExact(nn.Module):
    """Upsampling that PyTorch's exporter writes as a gather, by two times three factors."""

    factors: tuple[tuple[float, float, float], ...] = ((1.0, 2.0, 2.0), (4.0, 1.0, 2.0))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(F.interpolate(-x, scale_factor=three, mode="nearest-exact").abs() for three in self.factors)


class NearestExactByAnyFactor(NearestExact):
    """Also by three and five, and by one that is not whole."""

    factors = (*NearestExact.factors, (5.0, 3.0, 1.0), (1.0, 3.0, 1.5))


class Resizes(nn.Module):
    """[N, C, 5, 6, 7] float32."""

    def forward(self, x: torch.Tensor) -> Outputs:
        plane = x[:, :, 0]
        line = plane[:, :, 0]
        return (
            F.interpolate(x, scale_factor=2, mode="trilinear", align_corners=False),
            F.interpolate(x, scale_factor=2, mode="trilinear", align_corners=True),
            F.interpolate(x, size=(8, 9, 4), mode="trilinear", align_corners=False),
            F.interpolate(x, size=(3, 11, 1), mode="trilinear", align_corners=True),
            F.interpolate(x, scale_factor=2, mode="nearest"),
            F.interpolate(x, size=(7, 4, 10), mode="nearest"),
            F.interpolate(x, scale_factor=(0.5, 1.5, 2.0), mode="nearest"),
            F.interpolate(plane, size=(9, 5), mode="bilinear", align_corners=False),
            F.interpolate(plane, scale_factor=3, mode="bicubic", align_corners=False),
            F.interpolate(line, size=10, mode="linear", align_corners=True),
        )


class Pools(nn.Module):
    """[N, C, 8, 9, 11] float32."""

    def forward(self, x: torch.Tensor) -> Outputs:
        plane = x[:, :, 1]
        line = plane[:, :, 2]
        asymmetric = F.pad(x, (0, 1, 1, 0, 2, 1))
        return (
            F.max_pool3d(x, 2),
            F.max_pool3d(x, 3, stride=2, padding=1, ceil_mode=True),
            F.max_pool3d(x, (2, 3, 4), stride=(1, 2, 3), padding=(0, 1, 2)),
            F.max_pool3d(x, 3, stride=1, dilation=2, padding=1),
            F.max_pool3d(F.pad(x, (0, 1, 1, 0, 2, 1), value=float("-inf")), 3, stride=2),
            F.avg_pool3d(x, 2),
            F.avg_pool3d(x, 3, stride=2, padding=1, ceil_mode=True),
            F.avg_pool3d(x, 3, stride=2, padding=1, count_include_pad=False),
            F.avg_pool3d(x, (3, 2, 5), stride=(2, 1, 3), padding=(1, 0, 2), ceil_mode=True, count_include_pad=False),
            F.avg_pool3d(asymmetric, 3, stride=2),
            F.adaptive_avg_pool3d(x, 1),
            F.adaptive_avg_pool2d(plane, (4, 3)),
            F.max_pool2d(plane, 3, stride=2, ceil_mode=True),
            F.avg_pool2d(plane, (2, 3), stride=(2, 3), padding=(1, 1)),
            F.max_pool1d(line, 4, stride=3, padding=2),
            F.avg_pool1d(line, 4, stride=3, padding=2, ceil_mode=True),
            F.lp_pool2d(plane.abs() + 0.1, 2, 3, stride=2),
        )


class AdaptivePools(nn.Module):
    """[N, C, 8, 9, 11] float32. Only the older exporter knows them in 3D, if the sizes divide."""

    def forward(self, x: torch.Tensor) -> Outputs:
        return (
            F.adaptive_avg_pool3d(x, 1),
            F.adaptive_avg_pool3d(x, (4, 3, 11)),
            F.adaptive_max_pool3d(x, 1),
            F.adaptive_max_pool3d(x, (2, 3, 11)),
            F.adaptive_avg_pool1d(x[:, :, 0, 0], 1),
        )


class Paddings(nn.Module):
    """[N, C, 4, 5, 6] float32."""

    def forward(self, x: torch.Tensor) -> Outputs:
        plane = x[:, :, 0]
        line = plane[:, :, 0]
        return (
            F.pad(x, (1, 2, 3, 0, 2, 1), mode="reflect"),
            F.pad(x, (3, 1, 0, 2, 1, 4), mode="replicate"),
            F.pad(x, (1, 2, 2, 1, 0, 3), mode="circular"),
            F.pad(x, (1, 0, 2, 3, 0, 1), value=-1.5),
            F.pad(x, (-1, 2, 1, -2, 0, -1), value=0.25),
            F.pad(plane, (2, 1, 1, 3), mode="reflect"),
            F.pad(line, (5, 2), mode="replicate"),
            F.pad(x, (0, 0, 0, 0, 0, 0, 1, 2)),
        )


def convolutions() -> nn.Module:
    """[N, 6, 7, 8, 9] float32."""
    return Branches(
        nn.Conv3d(6, 8, 3, padding=1, groups=2),
        nn.Conv3d(6, 12, 3, padding=1, groups=6),
        nn.Conv3d(6, 9, (1, 3, 3), groups=3, stride=(1, 2, 1)),
        nn.Conv3d(6, 5, 3, dilation=2, padding=2),
        nn.Conv3d(6, 4, (3, 2, 1), dilation=(1, 3, 2), stride=(2, 1, 3), padding=(2, 0, 1)),
        nn.Conv3d(6, 10, 1, bias=False),
        nn.Conv3d(6, 7, 2, stride=2),
        nn.Conv3d(6, 5, (2, 4, 3), padding="same"),
        nn.Conv3d(6, 4, 3, padding=1, padding_mode="reflect"),
        nn.Conv3d(6, 4, 3, padding=(1, 2, 0), padding_mode="replicate"),
        nn.Conv3d(6, 4, 3, padding=1, padding_mode="circular"),
        nn.Conv3d(6, 11, (7, 8, 9)),
    )


def pooled_convolutions() -> nn.Module:
    """Convolutions and what a maximum over separate windows leaves of them: [N, 3, D, H, W] float32."""

    def volume(inputs: int, outputs: int) -> nn.Module:
        return nn.Conv3d(inputs, outputs, 3, padding=1)

    return nn.Sequential(
        volume(3, 40),
        nn.ReLU(),
        nn.MaxPool3d((1, 2, 2)),
        Branches(
            nn.Sequential(volume(40, 33), nn.MaxPool3d(2), nn.LeakyReLU()),
            nn.Sequential(volume(40, 48), nn.Sigmoid(), nn.MaxPool3d(2, ceil_mode=True)),
            nn.Sequential(volume(40, 40), nn.BatchNorm3d(40), nn.MaxPool3d((2, 1, 2)), volume(40, 8)),
        ),
    )


class LowerRanks(nn.Module):
    """Convolutions of one and two spatial axes: [N, 6, 10, 13] float32."""

    def __init__(self) -> None:
        super().__init__()
        self.planes = nn.ModuleList(
            [
                nn.Conv2d(6, 8, 3, padding=1),
                nn.Conv2d(6, 12, 5, stride=2, padding=2, groups=3),
                nn.Conv2d(6, 6, (1, 7), padding=(0, 3), groups=6),
                nn.ConvTranspose2d(6, 4, 3, stride=2, padding=1, output_padding=1),
            ]
        )
        self.lines = nn.ModuleList(
            [
                nn.Conv1d(6, 5, 11, padding=5),
                nn.Conv1d(6, 4, 3, stride=3, dilation=2, groups=2),
                nn.ConvTranspose1d(6, 3, 4, stride=3, padding=1),
            ]
        )

    def forward(self, x: torch.Tensor) -> Outputs:
        line = x[:, :, 3]
        return (*(layer(x) for layer in self.planes), *(layer(line) for layer in self.lines))


def transposed_convolutions() -> nn.Module:
    """[N, 6, 4, 5, 3] float32."""
    return Branches(
        nn.ConvTranspose3d(6, 4, 2, stride=2),
        nn.ConvTranspose3d(6, 8, 3, stride=2, padding=1, output_padding=1),
        nn.ConvTranspose3d(6, 9, 3, groups=3, stride=(1, 2, 3), padding=(0, 1, 1), output_padding=(0, 1, 2)),
        nn.ConvTranspose3d(6, 6, (4, 3, 2), groups=6, stride=2),
        nn.ConvTranspose3d(6, 5, 3, dilation=2, padding=1),
        nn.ConvTranspose3d(6, 4, (3, 2, 3), dilation=(2, 1, 3), stride=(3, 2, 1), padding=(2, 0, 4), groups=2),
        nn.ConvTranspose3d(6, 7, 2, stride=3),
        nn.ConvTranspose3d(6, 3, 1, bias=False),
    )


class WindowAttention(nn.Module):
    """One block of a Swin transformer: attention within shifted windows of 2x3x4. [N, 4, 6, 8, C] float32."""

    window = (2, 3, 4)

    def __init__(self, channels: int = 24, heads: int = 3) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(channels)
        self.norm2 = nn.LayerNorm(channels)
        self.query_key_value = nn.Linear(channels, 3 * channels)
        self.projection = nn.Linear(channels, channels)
        self.mlp = nn.Sequential(nn.Linear(channels, 4 * channels), nn.GELU(), nn.Linear(4 * channels, channels))
        tokens = self.window[0] * self.window[1] * self.window[2]
        self.register_buffer("bias", torch.linspace(-1, 1, heads * tokens * tokens).reshape(1, heads, tokens, tokens))

    def attention(self, windows: torch.Tensor) -> torch.Tensor:
        batch, tokens, channels = windows.shape
        split = self.query_key_value(windows).reshape(batch, tokens, 3, self.heads, channels // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        logits = query @ key.transpose(-2, -1) * (channels // self.heads) ** -0.5 + self.bias
        mixed = torch.softmax(logits, dim=-1) @ value
        out: torch.Tensor = self.projection(mixed.transpose(1, 2).reshape(batch, tokens, channels))
        return out

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, depth, height, width, channels = x.shape
        window_depth, window_height, window_width = self.window
        shifted = torch.roll(self.norm1(x), shifts=(-1, -1, -2), dims=(1, 2, 3))
        blocks = shifted.reshape(
            batch,
            depth // window_depth,
            window_depth,
            height // window_height,
            window_height,
            width // window_width,
            window_width,
            channels,
        )
        windows = blocks.permute(0, 1, 3, 5, 2, 4, 6, 7)
        tokens = window_depth * window_height * window_width
        attended = self.attention(windows.reshape(-1, tokens, channels)).reshape(windows.shape)
        merged = attended.permute(0, 1, 4, 2, 5, 3, 6, 7).reshape(x.shape)
        x = x + torch.roll(merged, shifts=(1, 1, 2), dims=(1, 2, 3))
        out: torch.Tensor = x + self.mlp(self.norm2(x))
        return out


class TransformerLayer(nn.Module):
    """Scaled dot product attention, causal and not, and torch's own multi-head attention. [N, 10, 16] float32."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)

    def forward(self, x: torch.Tensor) -> Outputs:
        heads = x.reshape(x.shape[0], 10, 2, 8).transpose(1, 2)
        return (
            self.attention(x, x, x, need_weights=False)[0],
            F.scaled_dot_product_attention(heads, heads, heads),
            F.scaled_dot_product_attention(heads, heads, heads, is_causal=True),
        )


class Attention(nn.Module):
    """Attention of lengths that a run decides: q [N, 2, L, 8], k [N, 2, S, 8], v [N, 2, S, 20], mask [L, S] float32."""

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> Outputs:
        few = v[..., :3]
        hidden = torch.where(mask > 1, -torch.inf, mask)  # never a whole row: the first key is always seen
        hidden = torch.cat([mask[:, :1], hidden[:, 1:]], dim=1)
        keys = k.transpose(-2, -1)
        windows = (0.3 * q @ keys).unsqueeze(0) + mask
        return (
            F.scaled_dot_product_attention(q, k, v),
            F.scaled_dot_product_attention(q + 1, k, few, attn_mask=mask),
            torch.softmax((q - 1) @ keys * 0.5 + hidden, dim=-1) @ few,
            torch.softmax(windows.squeeze(0), dim=-1) @ v,
        )


class OneHotRouting(nn.Module):
    """Mixture-of-experts gates by one_hot (iree-org/iree#21028): indices and gates [T, K] to [T, 4]."""

    experts = 4

    def forward(self, indices: torch.Tensor, gates: torch.Tensor) -> Outputs:
        one_hot = F.one_hot(indices, num_classes=self.experts).to(gates.dtype)
        weighted = one_hot * gates.unsqueeze(-1)
        return weighted.sum(dim=1), weighted.sum(dim=0), weighted.sum(dim=1).transpose(0, 1), one_hot


class ScatterRouting(nn.Module):
    """The same by scatter: indices and gates [T, K] to [T, 4] and, gathered back, [T, K]."""

    experts = 4

    def forward(self, indices: torch.Tensor, gates: torch.Tensor) -> Outputs:
        table = torch.zeros((indices.shape[0], self.experts), dtype=gates.dtype)
        scattered = table.scatter(1, indices, gates)
        added = table.scatter_add(1, indices, 2 * gates)
        rows = torch.arange(indices.shape[0]).unsqueeze(1).expand(-1, indices.shape[1])
        placed = table.index_put((rows, indices), gates)
        return scattered, added, placed, scattered.gather(1, indices), scattered[indices[:, 0]]


class Masks(nn.Module):
    """Comparisons, booleans, Where, casts, reductions and indices. x [N, 3, 4, 5, 6] float32, n [N, 3, 4] int64."""

    def forward(self, x: torch.Tensor, n: torch.Tensor) -> Outputs:
        mask = (x > 0.1) & (x < 0.9) | (x.abs() < 0.05)
        return (
            torch.where(mask, x, -x),
            x.masked_fill(~mask, float("-inf")),
            mask.to(torch.int64).sum(dim=(2, 3)),
            (x * 10).to(torch.int32),
            x.argmax(dim=1),
            x.argmin(dim=4, keepdim=True),
            x.amax(dim=(2, 4)),
            x.mean(dim=(1, 3), keepdim=True),
            x.var(dim=(2, 3, 4), unbiased=False),
            x.norm(dim=1),
            x.prod(dim=4),
            torch.logsumexp(x, dim=(3, 4)),
            n // 3,
            n % 4,
            torch.remainder(n, -3),
            n.clamp(-2, 5),
            n == 2,
            x.any(dim=2),
            x.floor() + x.round() + x.trunc() + x.sign(),
            (x * 3).fmod(1.0),
            torch.minimum(x, x.mean()).maximum(x.min()),
        )


class DataMovement(nn.Module):
    """[N, 4, 6, 5, 8] float32."""

    def forward(self, x: torch.Tensor) -> Outputs:
        first, second = torch.split(x, [1, 3], dim=1)
        parts = x.chunk(3, dim=2)
        return (
            x.permute(0, 3, 1, 4, 2),
            x.flip(dims=(2, 4)),
            x[:, 1:, ::2, -3:, 1:7:3],
            x.reshape(x.shape[0], 2, 2, 6, 40).transpose(1, 2).reshape(x.shape),
            torch.cat((second, first), dim=1),
            torch.stack(parts, dim=1),
            x.mean(dim=(2, 3), keepdim=True).expand(-1, -1, 3, 2, -1),
            x[:, :, :2].repeat(1, 2, 1, 1, 3),
            x.roll(shifts=(2, -3), dims=(2, 4)),
            x.unfold(4, 3, 2),
            F.pixel_shuffle(x[:, :, 0], 2),
            F.pixel_unshuffle(x[:, :, :4, 0], 2),
            x.cumsum(dim=2),
            x.flatten(2).index_select(2, torch.tensor([3, 0, 7, 7])),
            torch.tril(x[0, 0]),
            torch.einsum("ncdhw,nehdw->nce", x[:, :, :5], x[:, :, :5].transpose(2, 3)),
        )


class HalfNetwork(nn.Module):
    """A small convolutional network for 16-bit types. [N, 3, D, H, W] of such a type."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv3d(3, 16, 3, padding=1),
            nn.BatchNorm3d(16),
            nn.ReLU(),
            nn.Conv3d(16, 20, 3, stride=2, padding=1, groups=2),
            nn.LeakyReLU(0.1),
            nn.MaxPool3d(2),
        )
        self.head = nn.Linear(20, 7)

    def forward(self, x: torch.Tensor) -> Outputs:
        features = self.body(x)
        pooled = features.mean(dim=(2, 3, 4))
        return features, torch.softmax(self.head(pooled), dim=1)
