"""Names: ids as text, their order, their codes."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyvoices.core.names import Names, in_order, is_integer

TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=6)      # lone surrogates too: they come from odd files
WHOLE = st.integers(-10**25, 10**25).map(str) | st.sampled_from(["007", "7", "-0", "0", "00", "-007"])


@given(st.lists(TEXT, unique=True, max_size=12))
def test_ids_come_back_as_they_went_in(texts):
    names = Names(texts)
    assert list(names) == names.to_list() == texts == [names[i] for i in range(len(texts))] and len(names) == len(texts)
    assert names.code(texts).tolist() == list(range(len(texts))) and all(t in names for t in texts)
    assert pickle.loads(pickle.dumps(names)) == names and hash(pickle.loads(pickle.dumps(names))) == hash(names)
    assert names[1:3] == texts[1:3] and (not texts or names[-1] == texts[-1])


@given(st.lists(WHOLE, unique=True, max_size=12))
def test_whole_numbers_sort_as_numbers(texts):
    assert in_order(texts) == sorted(texts, key=lambda t: (int(t), t))
    assert in_order(texts[::-1]) == in_order(texts)


@given(st.lists(TEXT, unique=True, max_size=12))
def test_other_ids_sort_by_code_point(texts):
    if not all(map(is_integer, texts)):
        assert in_order(texts) == sorted(texts)


def test_what_is_a_whole_number():
    assert all(map(is_integer, ["0", "-1", "007", "9" * 5000]))
    assert not any(map(is_integer, ["", "-", "--1", "+1", "1.0", "1e3", "²", "٣", " 1", "1_0"]))
    assert in_order(["10", "9", "x"]) == ["10", "9", "x"] and in_order(["10", "9", "-1"]) == ["-1", "9", "10"]
    big = "1" + "0" * 5000
    assert in_order([big, "2", "-" + big]) == ["-" + big, "2", big]
    assert in_order(["7", "007", "07"]) == ["007", "07", "7"]


def test_unknown_names():
    names = Names(["a", "b"])
    with pytest.raises(KeyError):
        names.code(["c"])
    assert names.code(["c", "b"], missing=-1).tolist() == [-1, 1] and "c" not in names
    with pytest.raises(IndexError):
        names[2]
    assert names != Names(["ab"]) != Names(["a", "b", ""]) and Names(["ab", ""]) != Names(["a", "b"])
    assert Names.numbered(3).to_list() == ["0", "1", "2"] and Names.ordered(["b", "a", "b"]).to_list() == ["a", "b"]
    assert Names(["1", "10"]).with_others(["2", "1"]).to_list() == ["1", "2", "10"]
    assert Names(["low", "high"]).with_others(["b", "a"]).to_list() == ["low", "high", "a", "b"]
    assert repr(Names(list("abcdef"))) == "Names('a', 'b', 'c', 'd', ...; 6)"


def test_offsets_cannot_be_changed():
    for names in (Names(["a", "é"]), pickle.loads(pickle.dumps(Names(["a", "é"])))):
        with pytest.raises(ValueError, match="read-only"):
            names.offsets[0] = 1
    assert Names(["a", "é"]).offsets.tolist() == [0, 1, 3] and Names([]).offsets.dtype == np.int64
