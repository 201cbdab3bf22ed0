"""The page in a real Chromium: it opens from disk in silence, sorts, searches, opens, draws, fits a phone, prints, and runs nothing of the data."""

import importlib.util
import json
import os
import re
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import manyvoices as mv
from manyvoices.cli import run
from manyvoices.core.dataset import Dataset
from manyvoices.methods.report.html import html
from manyvoices.reporting.runs import folders
from manyvoices.reporting.summary import summarised

from .awkward import LONG, RIGHT_TO_LEFT, SCRIPT, WORKERS, crowd, dataset, hostile, picture, pictures

pytestmark = pytest.mark.extras
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PHONE, DESK = {"width": 375, "height": 800}, {"width": 1200, "height": 900}


def absent(reason):
    (pytest.fail if os.environ.get("MANYVOICES_CI") == "1" else pytest.skip)(reason)


@pytest.fixture(scope="module")
def browser():
    if importlib.util.find_spec("playwright") is None:
        absent("playwright is not installed")
    program = next((found for name in NAMES if (found := shutil.which(name))), None)
    if program is None:
        absent(f"none of {', '.join(NAMES)} is on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=program, args=FLAGS)
        yield chromium
        chromium.close()


# pages -----------------------------------------------------------------------------------------------------------------


def native(folder: Path, rows, columns, truth, about, text="the text of {}") -> Dataset:
    """Read from a folder, so that further columns of the answers find their rows."""
    pl.DataFrame(rows, schema=columns, orient="row").write_csv(folder / "answers.csv")
    pl.DataFrame({"task": list(truth), "label": list(truth.values())}).write_csv(folder / "truth.csv")
    pl.DataFrame({"task": list(truth), "text": [text.format(t) for t in truth]}).write_csv(folder / "items.csv")
    (folder / "META.json").write_text(json.dumps(about))
    return mv.read(folder)


def plain(folder: Path) -> Dataset:
    """Everything that a page can have: truth, texts, meanings of classes, times, rows left out, enough workers and tasks to be folded."""
    rows, truth = crowd(workers=60, tasks=300, per_task=6, classes=4)
    rng = np.random.default_rng(0)
    lines = [(t, w, k, round(float(2 + int(w[1:]) % 7 + rng.random()), 2)) for t, w, k in rows] + [("t1", "w1", None, 1.)] * 40
    return native(folder, lines, ["task", "worker", "label", "seconds"], truth, {"label_names": {"c0": "cat", "c1": "dog"}})


def numbers() -> Dataset:
    rng = np.random.default_rng(0)
    return dataset([(f"t{i}", f"w{w}", round(float(10 * np.sin(i) + rng.normal()), 2)) for i in range(60) for w in range(5)], scale="interval")


def two_sides() -> Dataset:
    """Few workers in two groups: pairs of them are drawn, and each has a line."""
    rng = np.random.default_rng(0)
    side = rng.integers(2, size=(2, 200))
    return dataset([(f"t{t}", f"w{w}", f"c{side[w // 3, t] if rng.random() < .9 else rng.integers(2)}") for t in range(200) for w in range(6)])


def nobody_named(folder: Path) -> Dataset:
    (folder / "counts.jsonl").write_text("".join(json.dumps({"id": f"t{i}", "label_counts": {"a": 3 + i % 4, "b": 5 - i % 3, "c": i % 2}}) + "\n" for i in range(40)))
    return mv.read(folder / "counts.jsonl")


def outside(folder: Path) -> Dataset:
    """Pictures as files, as data, missing, broken, behind a link, and by paths that lead out of the folder (which reading refuses)."""
    pictures(folder / "inner")
    (folder / "secret.png").write_bytes(picture((1, 2, 3), (50, 50)))
    (folder / "inner" / "link.png").symlink_to(folder / "secret.png")
    data = mv.read(folder / "inner")
    image = dict(data.items.table.select("task", "image").iter_rows())
    image |= {"t6": "../secret.png", "t7": "x/../../secret.png", "t8": str(folder / "secret.png"), "t9": "link.png",
              "t10": f"file://{folder}/secret.png", "t11": "../" * 20 + "etc/passwd"}
    table = data.items.table.with_columns(image=pl.Series([image[task] for task in data.items.table["task"]]))
    return replace(data, items=replace(data.items, table=table))


def few_do_most() -> Dataset:
    """Workers with 2 to 300 answers, verdicts of several kinds among them, more than are drawn one by one."""
    rng = np.random.default_rng(0)
    truth, often = rng.integers(3, size=300), 1 / np.arange(1, 101)
    rows = [(f"t{t}", f"w{w}", f"c{rng.integers(3) if w in (1, 2) or rng.random() < .2 else truth[t]}") for t in range(300)
            for w in rng.choice(100, 8, replace=False, p=often / often.sum())]
    return dataset(rows)


def every_column(folder: Path) -> Dataset:
    """Ordered labels with truth, times and moments: the widest table of workers there is."""
    rng = np.random.default_rng(0)
    truth = {f"review {t}": str(rng.integers(1, 6)) for t in range(120)}
    rows = [(task, f"a worker called {w}", str(int(np.clip(int(truth[task]) + (w == 1) + rng.normal() / 2, 1, 5))), round(float(np.exp(rng.normal(2))), 1),
             f"2024-05-{1 + t // 10:02}T10:{t % 60:02}:{w:02}Z") for t, task in enumerate(truth) for w in rng.permutation(15)[:8]]
    return native(folder, rows, ["task", "worker", "label", "seconds", "when"], truth,
                  {"scale": "ordinal", "label_names": {"1": "very bad indeed", "5": "excellent beyond words"}})


MADE = {
    "every column": every_column,
    "few do most": lambda _: few_do_most(),
    "plain": plain, "numbers": lambda _: numbers(), "two sides": lambda _: two_sides(), "hostile": lambda _: hostile(),
    "nobody named": nobody_named, "outside": outside,
    "one answer": lambda _: dataset([("t", "w", "k")]), "one worker": lambda _: dataset([(f"t{i}", "w", f"c{i % 3}") for i in range(12)]),
    "all equal": lambda _: dataset([(f"t{i % 9}", f"w{i}", "yes") for i in range(36)]),
    "ordered": lambda _: dataset([(f"t{i}", f"w{w}", str((i + (w == 3)) % 4)) for i in range(60) for w in range(5)], scale="ordinal"),
    "many classes": lambda _: dataset([(f"t{i}", f"w{w}", f"a class called {(i + (i % 7 == w)) % 30}") for i in range(120) for w in range(5)]),
}


class Made:
    """A page on disk and what it was made of."""

    def __init__(self, facts, path):
        self.facts, self.path = facts, path
        path.write_text(html(facts), encoding="utf-8")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    held = {}

    def get(name):
        if name not in held:
            folder = tmp_path_factory.mktemp("page")
            held[name] = Made(summarised(MADE[name](folder), {}), folder / "report.html")
        return held[name]

    return get


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A page about runs of `aggregate`, `train` and `learn`."""
    pytest.importorskip("torch").set_num_threads(1)
    folder = tmp_path_factory.mktemp("trained")
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=80)
    (folder / "data").mkdir()
    x = np.array([[0, 0], [3, 0]])[truth] + rng.normal(size=(80, 2))
    np.save(folder / "data" / "features.npy", x.astype(np.float32))
    (folder / "data" / "tasks.txt").write_text("".join(f"t{i}\n" for i in range(80)))
    said = [(f"t{i}", f"w{w}", "ab"[truth[i] if rng.random() < .8 else rng.integers(2)]) for i in range(80) for w in range(5)]
    pl.DataFrame(said, schema=["task", "worker", "label"], orient="row").write_csv(folder / "data" / "answers.csv")
    pl.DataFrame({"task": [f"t{i}" for i in range(80)], "label": ["ab"[k] for k in truth]}).write_csv(folder / "data" / "truth.csv")
    data, fast = str(folder / "data"), ["--epochs", "4", "--batch", "8", "--hidden", "8"]
    for args in (["aggregate", data, "-s", "ds"], ["aggregate", data, "-s", "mv"], ["learn", data, "-s", "crowdlayer", *fast],
                 ["train", data, "--labels", str(folder / "aggregate-ds" / "labels.csv"), *fast]):
        assert run([*args, "-o", str(folder / ("-".join([args[0], *args[3:4]]) if args[0] != "train" else "train")) + "/"]) == 0
    runs = [folder / name for name in ("aggregate-ds", "aggregate-mv", "learn-crowdlayer", "train")]
    return Made(summarised(mv.read(folder / "data"), folders(runs)), folder / "report.html")


# the browser -----------------------------------------------------------------------------------------------------------


class Opened:
    """A page, and everything that it said, asked the network for or complained about."""

    def __init__(self, browser, path, **options):
        self.context = browser.new_context(**{"viewport": DESK, **options})
        self.page, self.noise = self.context.new_page(), []
        address = Path(path).as_uri()
        self.page.on("console", lambda message: self.noise.append(("console", message.type, message.text)))
        self.page.on("pageerror", lambda error: self.noise.append(("error", str(error))))
        self.page.on("dialog", lambda box: (self.noise.append(("dialog", box.message)), box.dismiss()))
        self.context.on("request", lambda request: request.url == address or self.noise.append(("request", request.url[:200])))
        self.context.on("page", lambda _: self.noise.append(("popup", "")))
        self.page.goto(address)
        if options.get("java_script_enabled", True):
            self.page.wait_for_selector("html[data-drawn=yes]", state="attached", timeout=60_000)

    def rows(self, table="#workers [data-table] tbody tr"):
        """Ids of the rows that can be seen, in their order."""
        return self.page.eval_on_selector_all(table, "rows => rows.filter(r => r.offsetParent).map(r => r.firstElementChild.dataset.v)")

    def wide(self):
        """What reaches beyond the right edge, outside of boxes that scroll or cut by themselves."""
        return self.page.evaluate("""() => {
            const found = [];
            if (document.documentElement.scrollWidth > innerWidth) found.push("page " + document.documentElement.scrollWidth);
            for (const x of document.querySelectorAll("main *, header *, dialog[open] *")) {
                let clipped = x.closest(".sr, thead");
                for (let up = x.parentElement; up && up !== document.body; up = up.parentElement) clipped ||= getComputedStyle(up).overflowX !== "visible" && up.tagName !== "DIALOG";
                if (clipped) continue;
                const box = x.getBoundingClientRect();
                if (box.width && box.right > innerWidth + 1) found.push(x.tagName + "." + x.className + " " + x.textContent.slice(0, 40));
            }
            return found;
        }""")


@pytest.fixture
def opened(browser):
    held = []

    def get(made, **options):
        held.append(Opened(browser, made.path, **options))
        return held[-1]

    yield get
    for one in held:
        one.context.close()


EVERY = sorted(MADE)


@pytest.mark.parametrize("name", EVERY)
def test_opens_in_silence_and_draws_every_chart(name, made, opened):
    at_hand = opened(made(name))
    check_drawn(at_hand)
    assert not at_hand.noise


def check_drawn(at_hand):
    page = at_hand.page
    held = page.evaluate("JSON.parse(document.getElementById('held').textContent).charts")
    places = page.eval_on_selector_all("[data-chart]", "all => all.map(x => x.dataset.chart)")
    assert sorted(places) == sorted(held)
    drawn = page.evaluate("""() => Object.fromEntries([...document.querySelectorAll("[data-chart]")].map(x => [x.dataset.chart, {
        pictures: x.querySelectorAll("svg, canvas").length,
        marks: [...x.querySelectorAll(".role-mark.mark-symbol path, .role-mark.mark-rect path, .role-mark.mark-line path")]
            .filter(m => m.getAttribute("d") && !/NaN/.test(m.outerHTML) && getComputedStyle(m).opacity > 0).length,
        text: [...x.querySelectorAll("text")].map(t => t.textContent).join(" "),
        wide: x.querySelector("svg").getBoundingClientRect().width, high: x.querySelector("svg").getBoundingClientRect().height,
    }]))""")
    for key, spec in held.items():
        found = drawn[key]
        assert found["pictures"] == 1 and found["marks"] >= 1 and found["wide"] > 100 and found["high"] > 40, (key, found)
        assert not re.search(r"\b(NaN|undefined|null|Infinity)\b", found["text"]), (key, found["text"])
        if key in ("workers", "methods", "right", "byclass", "grid", "pairs", "confidence", "calibration"):
            assert found["marks"] >= len(spec["data"]["values"]), key     # each number has its mark
        assert page.get_attribute(f"[data-chart={key}]", "aria-label")
    return held


def test_which_charts_there_are(made):
    """The kinds of pages above together hold every chart that is not about a trained model."""
    drawn = {name: set(re.findall(r'data-chart="([^"]+)"', made(name).path.read_text(encoding="utf-8"))) for name in EVERY}
    assert drawn["plain"] == {"workers", "byclass", "grid", "confidence", "calibration", "methods", "right"}
    scale = made("few do most").path.read_text(encoding="utf-8").split('"workers":{"width"')[1].split("logarithmic")
    assert len(scale) > 1 and len({row["kind"] for row in made("few do most").facts["workers"]["rows"]}) == 3
    assert "pairs" in drawn["two sides"] and drawn["numbers"] >= {"workers", "methods"}


def test_sorting(made, opened):
    at_hand, rows = opened(made("plain")), made("plain").facts["workers"]["rows"]
    page = at_hand.page
    page.click("#workers .more")
    assert at_hand.rows() == [r["worker"] for r in rows]

    def head(text):
        return page.locator("#workers thead th", has=page.get_by_role("button", name=text, exact=True))

    first = {r["worker"]: i for i, r in enumerate(rows)}                  # equal ones stay in the order of the page
    for text, key in (("Answers", lambda r: r["n"]), ("Skill", lambda r: r["skill"]["value"]), ("Time", lambda r: r["speed"]["value"])):
        head(text).locator("button").click()
        assert head(text).get_attribute("aria-sort") == "descending"
        assert at_hand.rows() == [r["worker"] for r in sorted(rows, key=lambda r: (-key(r), first[r["worker"]]))]
        head(text).locator("button").press("Enter")                       # and by keyboard
        assert head(text).get_attribute("aria-sort") == "ascending"
        assert at_hand.rows() == [r["worker"] for r in sorted(rows, key=lambda r: (key(r), first[r["worker"]]))]
    head("Worker").locator("button").click()
    assert at_hand.rows() == sorted((r["worker"] for r in rows), key=lambda w: int(w[1:]))     # w2 before w10
    assert [x for x in page.eval_on_selector_all("#workers th[aria-sort]", "all => all.map(x => x.ariaSort)") if x != "none"] == ["ascending"]
    assert not at_hand.noise


def test_search(made, opened):
    at_hand, rows = opened(made("plain")), made("plain").facts["workers"]["rows"]
    page, box, count = at_hand.page, at_hand.page.get_by_label("Find a worker"), at_hand.page.locator("#workers .count")
    assert len(at_hand.rows()) == 25 and count.inner_text() == "60 workers"
    last = rows[-1]["worker"]                                             # not among the 25 that are shown
    assert last not in at_hand.rows()
    box.fill(last.upper())
    assert at_hand.rows() == [r["worker"] for r in rows if last in r["worker"]] and count.inner_text() == f"{len(at_hand.rows())} of 60 workers"
    box.fill("nobody is called this")
    assert at_hand.rows() == [] and count.inner_text() == "0 of 60 workers"
    box.fill("undecided")                                                # words of the verdict
    assert count.inner_text() == f"{sum(r['kind'] == 'undecided' for r in rows)} of 60 workers"
    box.fill("")
    page.get_by_role("button", name="Show all 60").click()
    assert len(at_hand.rows()) == 60
    page.get_by_role("button", name="Show the first 25").click()
    assert at_hand.rows() == [r["worker"] for r in rows[:25]]
    tasks = page.get_by_label("Find a task")
    name = made("plain").facts["tasks"]["rows"][30]["task"]
    tasks.fill(f"text of {name}")
    shown = page.eval_on_selector_all("#tasks ul.tasks > li", "all => all.filter(x => x.offsetParent).map(x => x.querySelector('h3').textContent)")
    assert name in shown and all(name in text for text in shown)
    assert not at_hand.noise


def cells(page):
    """The open matrix as {(held, said): n}, without its zeros."""
    return {(k, m): n for k, m, n in page.evaluate("""() => {
        const table = document.querySelector("dialog[open] table"), heads = [...table.querySelectorAll("thead th")].slice(1).map(x => x.textContent);
        return [...table.querySelectorAll("tbody tr")].flatMap(tr => [...tr.querySelectorAll("td")].map((td, i) => [tr.querySelector("th").textContent, heads[i], Number(td.textContent)]));
    }""") if n}


def test_a_confusion_opens(made, opened):
    at_hand, section = opened(made("plain")), made("plain").facts["workers"]
    page, meanings = at_hand.page, made("plain").facts["meanings"]
    classes = [f"{k} {meanings[k]}" if k in meanings else k for k in section["classes"]]
    for row, way in zip(section["rows"][:4], ("click", "Enter", "Space", "click"), strict=True):
        opener = page.locator("#workers tbody").get_by_role("button", name=row["worker"], exact=True)
        if way == "click":
            opener.click()
        else:
            opener.focus()
            page.keyboard.press(way)
        assert page.locator("dialog").get_attribute("open") is not None
        assert page.locator("#worker-name").inner_text() == row["worker"]
        assert cells(page) == {(classes[k], classes[m]): n for k, m, n in row["confusion"]}
        assert f"answers {row['n']}" in page.locator("#worker-body .sub").inner_text()
        if way == "click":
            page.keyboard.press("Escape")
        else:
            page.get_by_role("button", name="Close").press("Enter")
        assert page.locator("dialog").get_attribute("open") is None
        assert page.evaluate("document.activeElement.dataset.worker") == row["worker"]          # back where one was
    assert not at_hand.noise


def test_a_mark_of_the_chart_opens_its_worker(made, opened):
    at_hand = opened(made("plain"))
    at_hand.page.locator('[data-chart="workers"] .mark-symbol.role-mark path').last.click()
    assert at_hand.page.locator("#worker-name").inner_text() in {r["worker"] for r in made("plain").facts["workers"]["rows"]}
    assert at_hand.page.locator("dialog[open] table").count() == 1 and not at_hand.noise


def test_many_classes_open_as_a_list(made, opened):
    at_hand, row = opened(made("many classes")), made("many classes").facts["workers"]["rows"][0]
    at_hand.page.locator("#workers tbody button").first.click()
    wrong = [n for k, m, n in row["confusion"] if k != m]
    assert at_hand.page.eval_on_selector_all("dialog[open] tbody td", "all => all.map(x => Number(x.textContent))") == sorted(wrong, reverse=True)


@pytest.mark.parametrize("name", EVERY)
def test_fits_a_phone(name, made, opened):
    at_hand = opened(made(name), viewport=PHONE)
    assert at_hand.wide() == []
    at_hand.page.eval_on_selector_all("details", "all => all.forEach(x => { x.open = true; })")
    at_hand.page.eval_on_selector_all(".more", "all => all.forEach(x => { if (!x.hidden) x.click(); })")
    assert at_hand.wide() == []
    for opener in at_hand.page.locator("#workers tbody button").all()[:3]:
        opener.click()
        assert at_hand.wide() == []
        at_hand.page.keyboard.press("Escape")
    assert not at_hand.noise


@pytest.mark.parametrize("width", [1920, 1200, 861, 700, 641, 320])
def test_fits_any_screen(width, made, opened):
    """The widest table; where it must, it scrolls in its own box."""
    at_hand = opened(made("every column"), viewport={"width": width, "height": 800})
    assert set(made("every column").facts["workers"]["columns"]) == {"skill", "accuracy", "bias", "speed", "drift"}
    assert at_hand.wide() == [] and not at_hand.noise
    box = at_hand.page.evaluate("(x => [x.scrollWidth, x.clientWidth])(document.querySelector('#workers .table'))")
    assert box[0] <= box[1] or width in (861, 700, 641)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours(scheme, made, opened):
    """Follows the reader's setting, can be switched, and all writing stands out from what is behind it."""
    at_hand = opened(made("plain"), color_scheme=scheme)
    page, other = at_hand.page, {"light": "dark", "dark": "light"}[scheme]
    assert (brightness(page) > .5) == (scheme == "light")
    assert min(contrasts(page).values()) >= 4.5, contrasts(page)
    page.get_by_role("button", name=f"Switch to {other} colours").click()
    assert (brightness(page) > .5) == (other == "light")
    assert min(contrasts(page).values()) >= 4.5, contrasts(page)
    page.get_by_role("button", name=f"Switch to {scheme} colours").click()
    assert (brightness(page) > .5) == (scheme == "light") and not at_hand.noise


LUMINANCE = """const seen = colour => {
    const c = document.createElement("canvas").getContext("2d"); c.fillStyle = colour; c.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...c.getImageData(0, 0, 1, 1).data].slice(0, 3).map(x => x / 255).map(x => x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b; };"""


def brightness(page):
    return page.evaluate("() => {" + LUMINANCE + "return seen(getComputedStyle(document.body).backgroundColor); }")


def contrasts(page):
    """Of every kind of text with the page behind it (WCAG asks for 4.5)."""
    return page.evaluate("() => {" + LUMINANCE + """
        const page = seen(getComputedStyle(document.body).backgroundColor), found = {};
        for (const x of document.querySelectorAll("main *, nav *, header *, [data-chart] text")) {
            if (![...x.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || !x.getBoundingClientRect().width || x.closest(".arrow")) continue;
            const style = getComputedStyle(x), at = seen(x instanceof SVGElement ? style.fill : style.color);
            found[x.tagName + "." + (x.getAttribute("class") || "")] = (Math.max(at, page) + .05) / (Math.min(at, page) + .05);
        }
        return found;
    }""")


@pytest.mark.parametrize("name", ["plain", "every column", "hostile", "many classes"])
def test_tables_are_printed_as_tables(name, made, opened):
    """However narrow the paper is, and with nothing beyond its edge."""
    at_hand = opened(made(name), viewport={"width": 687, "height": 970})      # A4 within margins of 14 mm
    at_hand.page.emulate_media(media="print")
    assert at_hand.wide() == []
    heads = at_hand.page.locator("#workers thead, #classes .cards thead")
    assert heads.count() >= 2 and all(heads.nth(i).bounding_box()["height"] > 10 for i in range(heads.count()))
    assert at_hand.page.eval_on_selector("#workers tbody tr", "row => getComputedStyle(row).display") == "table-row"


def test_print(made, opened):
    """On white in ink, without what only a screen has, nothing cut off, and saying where a list was cut."""
    at_hand = opened(made("plain"), color_scheme="dark", viewport={"width": 700, "height": 900})
    page = at_hand.page
    page.emulate_media(media="print", color_scheme="dark")
    assert brightness(page) > .95 and min(contrasts(page).values()) >= 4.5
    for gone in ("nav", "#theme", ".tools", "#tip"):
        assert not page.locator(gone).first.is_visible(), gone
    assert at_hand.wide() == []
    assert page.evaluate("getComputedStyle(document.querySelector('#workers .more'), '::after').content") == '"Printed: 25 of 60 workers."'
    assert len(at_hand.rows()) == 25 and page.locator("[data-chart] svg").first.is_visible()
    assert page.pdf(format="A4")[:5] == b"%PDF-"
    assert not at_hand.noise


def test_without_scripts(made, opened):
    """Every row and number is there; only the drawing is not, and it says so."""
    page = opened(made("plain"), java_script_enabled=False).page
    assert page.locator("#workers tbody tr").count() == 60 and page.locator("#workers tbody tr").last.is_visible()
    assert page.locator("noscript").first.inner_text().startswith("The chart needs scripts")
    assert not page.locator("#theme").is_visible()


def test_hostile_data_stays_text(made, opened):
    at_hand, facts = opened(made("hostile")), made("hostile").facts
    page = at_hand.page
    page.eval_on_selector_all(".more", "all => all.forEach(x => { if (!x.hidden) x.click(); })")
    page.eval_on_selector_all("details", "all => all.forEach(x => { x.open = true; })")
    for row in facts["workers"]["rows"]:
        page.locator("#workers tbody button").nth(at_hand.rows().index(row["worker"])).click()
        assert "".join(page.locator("#worker-name").inner_text().split())[:16] == "".join(row["worker"].split())[:16]
        page.keyboard.press("Escape")
    drawn = "".join(page.eval_on_selector_all("[data-chart] text", "all => all.map(x => x.textContent)"))
    assert "abc" in drawn and not set("\u200f\u202e\u202d\u202c") & set(drawn)      # nothing turns the direction of what follows
    page.get_by_label("Find a worker").fill("<script>window.broken")
    assert at_hand.rows() == [SCRIPT]
    page.locator('[data-chart="workers"] .mark-symbol path').first.hover()
    assert page.evaluate("window.broken") is None and "49" not in page.locator("h1").inner_text()
    assert page.title().startswith("</script><script>window.broken = 1</script>")
    assert page.locator("script").count() == 5 and page.locator("main img, main script, main a:not([href^='#'])").count() == 0
    assert {LONG, RIGHT_TO_LEFT} <= set(WORKERS) and len(at_hand.page.locator("#workers tbody").inner_text()) < 20_000
    assert not at_hand.noise


def test_nothing_can_be_run_or_loaded(made, opened):
    """Even if something slipped through: the policy of the page stops it."""
    at_hand, loaded = opened(made("plain")), []
    at_hand.page.on("requestfinished", lambda request: loaded.append(request.url))
    at_hand.page.evaluate("""() => {
        const script = document.createElement("script"); script.textContent = "window.broken = 3"; document.body.append(script);
        const image = document.createElement("img"); image.setAttribute("onerror", "window.broken = 4"); image.src = "http://127.0.0.1:9/a.png"; document.body.append(image);
        const link = document.createElement("a"); link.href = "javascript:window.broken = 5"; document.body.append(link); link.click();
    }""")
    at_hand.page.wait_for_timeout(200)
    assert at_hand.page.evaluate("window.broken") is None
    assert sum("Content Security Policy" in text for _, *rest in at_hand.noise for text in rest) >= 3
    assert not loaded


def test_pictures(made, opened):
    """Those of the folder and those given as data; nothing from outside of it, whatever the path."""
    at_hand = opened(made("outside"))
    page = at_hand.page
    page.eval_on_selector_all(".more", "all => all.forEach(x => { if (!x.hidden) x.click(); })")
    seen = dict(page.eval_on_selector_all("#tasks li", """all => all.map(x => [x.querySelector("h3").textContent.trim(), [...x.querySelectorAll("img")].map(i => {
        const c = document.createElement("canvas").getContext("2d"); c.drawImage(i, 0, 0); return [i.naturalWidth, i.naturalHeight, ...c.getImageData(1, 1, 1, 1).data.slice(0, 3)]; })])"""))
    assert {task for task, found in seen.items() if found} == {"t0", "t1", "t4"}
    assert seen["t0"] == [[32, 32, 200, 30, 30]] and seen["t1"][0][:2] == [240, 160] and seen["t4"][0][2:] == [0, 90, 200]
    assert "root:x:" not in page.content() and all(page.get_attribute(f"#tasks img >> nth={i}", "alt") for i in range(3))
    assert not at_hand.noise


def test_for_a_screen_reader(made, opened):
    """Names for all that can be used, headings without gaps, tables that say what their cells are; the keyboard reaches all of it."""
    at_hand = opened(made("plain"))
    page = at_hand.page
    assert page.get_attribute("html", "lang") == "en"
    levels = page.eval_on_selector_all("h1, h2, h3", "all => all.filter(x => x.offsetParent).map(x => Number(x.tagName[1]))")
    assert levels[0] == 1 and levels.count(1) == 1 and all(b - a <= 1 for a, b in pairwise(levels))
    assert page.evaluate("""() => [...document.querySelectorAll("button, input, a, section, nav, table, dialog, [role=img]")].filter(x =>
        !(x.textContent.trim() || x.ariaLabel || (x.labels && x.labels.length) || x.querySelector("caption"))).length""") == 0
    assert page.evaluate("[...document.querySelectorAll('section')].every(x => document.getElementById(x.getAttribute('aria-labelledby')))")
    assert page.evaluate("[...document.querySelectorAll('table')].every(x => x.caption && x.caption.textContent.trim())")
    assert page.evaluate("[...document.querySelectorAll('table thead th')].every(x => x.scope === 'col')")
    ids = page.eval_on_selector_all("[id]", "all => all.map(x => x.id)")
    assert len(ids) == len(set(ids))
    assert all(page.locator(ref).count() == 1 for ref in set(page.eval_on_selector_all("a", "all => all.map(x => x.getAttribute('href'))")))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("(x => x.id || x.dataset.worker || x.dataset.sort || x.tagName)(document.activeElement)"))
    assert {"find-worker", "number", "text", "SUMMARY", made("plain").facts["workers"]["rows"][0]["worker"]} <= reached


@pytest.mark.parametrize("viewport", [DESK, PHONE])
def test_trained_models(viewport, trained, opened):
    at_hand = opened(trained, viewport=viewport)
    held = check_drawn(at_hand)
    rows = trained.facts["models"]["rows"]
    assert len(rows) == 2 and {key for key in held if key.startswith("curve")} == {"curve-0", "curve-1"}
    assert len(trained.facts["runs"]["rows"]) == 2
    at_hand.page.eval_on_selector_all("details", "all => all.forEach(x => { x.open = true; })")
    assert at_hand.wide() == [] and at_hand.page.locator("#models .matrix").count() == sum(len(r["workers"]["rows"]) for r in rows if r["workers"])
    assert not at_hand.noise
