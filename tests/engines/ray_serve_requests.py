"""Asks `examples/serve_with_ray.py` 200 things at once, kills a replica, and asks them again."""

import json
import os
import random
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
import ray
import serve_with_ray as example
from ray import serve

from onnx_philox import Pipeline

REQUESTS = 200
ADDRESS = "http://127.0.0.1:8000"


def ask(given: dict) -> dict:
    """The answer; a request that gets none is sent again, as a client does."""
    for _ in range(50):
        try:
            with urllib.request.urlopen(ADDRESS, json.dumps(given).encode(), timeout=60) as answer:
                return json.load(answer)
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    raise RuntimeError(f"no answer to {given}")


def ask_all(asked: list[dict], *, kills: bool) -> list[dict]:
    """The answers to all, asked at once in random order."""
    order = random.sample(range(REQUESTS), REQUESTS)
    answers: dict[int, dict] = {}
    begun = threading.Event()

    def ask_one(i: int) -> None:
        answers[i] = ask(asked[i])
        begun.set()

    with ThreadPoolExecutor(64) as pool:
        futures = [pool.submit(ask_one, i) for i in order]
        if kills:
            begun.wait(60)
            victim = next(p for p in psutil.process_iter() if is_replica(p))
            os.kill(victim.pid, signal.SIGKILL)
        for future in futures:
            future.result()
    return [answers[i] for i in range(REQUESTS)]


def is_replica(process: psutil.Process) -> bool:
    """Whether it is one of this script's."""
    mine = psutil.Process().children(recursive=True)
    return process in mine and any("ServeReplica:" in word for word in process.cmdline())


class Noting:
    """A pipeline that writes down the sizes of its batches."""

    def __init__(self, pipeline: Pipeline, sizes: str) -> None:
        self.pipeline = pipeline
        self.sizes = Path(sizes)

    async def acall(self, feed: dict, *, seeds: list[int]) -> dict:
        with self.sizes.open("a") as file:
            file.write(f"{len(seeds)}\n")
        return await self.pipeline.acall(feed, seeds=seeds)


class Noted(example.Model.func_or_class):
    def __init__(self, model: str, sizes: str) -> None:
        super().__init__(model)
        self.pipeline = Noting(self.pipeline, sizes)


if __name__ == "__main__":
    model, sizes = sys.argv[1:]
    small = {"num_cpus": 2, "include_dashboard": False, "object_store_memory": 10**8}
    # Standard output is for what is found: what Ray says of deaths goes into its own files.
    ray.init(**small, logging_level="error", log_to_driver=False)
    how = {"num_replicas": example.Model.num_replicas, "ray_actor_options": {"num_cpus": 0.5}}
    serve.run(serve.deployment(**how)(Noted).bind(model, sizes))
    generator = np.random.default_rng(0)
    asked = [
        {"x": generator.random(4, np.float32).tolist(), "seed": int(seed)}
        for seed in generator.integers(0, 2**63, REQUESTS)
    ]
    pipe = Pipeline(model, per_row=True)
    alone = [pipe({"x": np.float32([a["x"]])}, seeds=[a["seed"]])["y"][0].tolist() for a in asked]
    for kills in (False, True):
        answers = ask_all(asked, kills=kills)
        assert [a["seed"] for a in answers] == [a["seed"] for a in asked]
        wrong = [i for i, answer in enumerate(answers) if answer["y"] != alone[i]]
        print(
            "found", REQUESTS, "killed" if kills else "undisturbed", len(wrong), "wrong", flush=True
        )
    given = ask({"x": asked[0]["x"]})
    again = pipe({"x": np.float32([asked[0]["x"]])}, seeds=[given["seed"]])["y"][0].tolist()
    print("found a seed of the server's:", given["y"] == again)
