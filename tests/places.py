"""Where the shards of the same answers may live. A method gives the same bits in all of these places."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import pytest

from manyvoices import api
from manyvoices.core.answers import Here


class Apart(Here):
    """Shards worked on in two other processes: proves that steps, parameters, shards and sums can travel."""

    pool = None

    def map(self, work):
        if Apart.pool is None:
            Apart.pool = ProcessPoolExecutor(2, multiprocessing.get_context("spawn"))
        return Apart.pool.map(work, self.shards)


@pytest.fixture(scope="module", autouse=True)
def close():
    yield
    if Apart.pool is not None:
        Apart.pool.shutdown()
        Apart.pool = None


ENGINES = {
    "threads1": lambda answers: api.place(answers, "threads:1"),
    "threads4": lambda answers: api.place(answers, "threads:4"),
    "disk": lambda answers: api.place(answers, "disk"),
    "processes": lambda answers: replace(answers, store=Apart(answers.store.shards)),
}
