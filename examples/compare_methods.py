"""Several methods on one simulated crowd, against the truth: who wins depends on how people err.

python examples/compare_methods.py
"""

from __future__ import annotations

import numpy as np

import manyvoices as mv

METHODS = ("mv", "wawa", "onecoin", "ds", "glad", "mace", "bcc")
CROWDS = {
    "half guess": ("hammer_spammer", {"ratio": 0.5}),
    "everybody confuses in their own way": ("independent_confusion", {}),
    "most copy a few": ("student_teacher", {"ratio": 0.8}),
}


def main() -> None:
    print(f"{'':36}" + "".join(f"{name:>9}" for name in METHODS))
    for title, (strategy, options) in CROWDS.items():
        data = mv.simulate(strategy, workers=40, tasks=500, classes=4, per_task=6, seed=1, **options)
        truth = np.array(data.items.truth_of(data.answers.tasks), object)
        right = [np.mean(np.array(mv.aggregate(data.answers, name).labels(), object) == truth) for name in METHODS]
        print(f"{title:36}" + "".join(f"{share:9.3f}" for share in right))


if __name__ == "__main__":
    main()
