"""The pass that finds the random nodes, and reads what they say."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from typing import NoReturn

import onnx_ir as ir

from onnx_philox._contract import checks, shown
from onnx_philox._contract.generators import PHILOX, Generator
from onnx_philox._contract.operators import DOMAIN
from onnx_philox._contract.refusal import ValueRefusalError
from onnx_philox._models import onnx_graphs
from onnx_philox._models.constants import constant, is_all
from onnx_philox._models.emitter import OLDEST_OPSET
from onnx_philox._models.inlining import inline
from onnx_philox._models.ours import awaits_state, generator_of, lacks_state, own_seeds
from onnx_philox._rewriting.asked import OWNER
from onnx_philox._rewriting.found import Irreplaceable, MayStayError
from onnx_philox._rewriting.in_onnx.inferred_types import Types
from onnx_philox._rewriting.in_onnx.passes.doubtful import doubt_of
from onnx_philox._rewriting.in_onnx.passes.expand_maps import expand_maps, is_map
from onnx_philox._rewriting.in_onnx.passes.explicit_seeds import Seeds
from onnx_philox._rewriting.in_onnx.passes.keys import Keys
from onnx_philox._rewriting.in_onnx.random_nodes import foreign
from onnx_philox._rewriting.in_onnx.random_nodes.bernoulli_nodes import share_of
from onnx_philox._rewriting.in_onnx.random_nodes.of_onnxruntime import (
    DROPOUT,
    MICROSOFT,
    DropoutPlaces,
    fused_dropout,
    input_at,
)
from onnx_philox._rewriting.in_onnx.random_nodes.onnx_random_nodes import (
    STANDARD_OPERATORS,
    RandomWhen,
    Version,
    version_at,
)
from onnx_philox._rewriting.in_onnx.random_nodes.site import (
    FUNCTION_OF_ORIGIN,
    Site,
    check_declared,
    check_schema,
    site_of,
)
from onnx_philox._rewriting.in_onnx.random_nodes.tensorflow_random_nodes import KINDS, key_of
from onnx_philox._rewriting.in_onnx.replacements import tensorflow_replacements
from onnx_philox._rewriting.in_onnx.replacements.awaiting import AwaitingReplacement
from onnx_philox._rewriting.in_onnx.replacements.onnx_replacements import (
    REPLACEMENT_OF,
    BernoulliReplacement,
    Replacement,
    read_bias_dropout,
)
from onnx_philox._rewriting.in_onnx.replacements.outcome import Outcome, Replaceable
from onnx_philox._rewriting.in_onnx.replacements.patterns import absorb
from onnx_philox._rewriting.not_rows import few

# What to do about random operators that are no single draw.
_WAY_OUT = {
    (MICROSOFT, "Sampling"): (
        "Call the decoder in a loop of your own, and draw each token by RandomToken "
        "(onnx_philox.graphs.random_token), which has temperature, top_k, top_p and min_p"
    )
}
_LOOPS_AND_BRANCHES = ("If", "Loop", "Scan")


def find_nodes(
    model: ir.Model,
    generator: Generator = PHILOX,
    *,
    keep_seeds: bool = False,
    types: Types | None = None,
) -> list[Outcome]:
    """What became of each random node of a model, in order, depth first; changes nothing.

    The functions of the model that hold random nodes must have been inlined. The generator is the
    one by which they are to be drawn. With `keep_seeds` nodes draw the same that their explicit
    seeds tie in the runtimes. `types` are those of the model, where somebody else needs them too.

    Raises:
        ValueError: A node reads what is computed of it.
    """
    _check_order(model)
    if types is None:
        types = Types(model)
    own = generator.rewriting()
    found: list[Outcome] = []
    of_onnx = onnx_graphs.onnx_opset_for(model)
    for node, owners in onnx_graphs.walk(model.graph):
        opset = onnx_graphs.opset_of(model.opset_imports, node.domain)
        if is_random(node, opset, model):
            site = site_of(node, owners, opset, of_onnx)
            found.append(_read(site, types))
        elif own is not None:
            own.pass_by(node)
    found = _with_seeds(found, types, keep=keep_seeds)
    if any(key_of(each.site.node) for each in found):
        drawing = [each.site.node for each in found]
        keys = Keys(model, drawing, types)
        found = [_of_key(each, keys) for each in found]
        _warn_of_loops(found, Keys(model, drawing, types, across_loops=True))
    counts = Counter(each.same for each in found if isinstance(each, Replaceable))

    def drawn(each: Outcome) -> Outcome:
        if isinstance(each, Irreplaceable):
            return each
        shares = each.same is not None and counts[each.same] > 1
        outcome: Outcome | None = None
        if own:
            outcome = own.found(each, types, shares=shares)
        return outcome or _as_said(each, types, generator, shares=shares)

    return [drawn(each) for each in found]


def _check_order(model: ir.Model) -> None:
    """Refuses a node that reads what is computed of it: whoever goes back from it finds no end."""
    if _is_in_order(model):
        return
    order = TopologicalSorter[ir.Node]()
    for node, owners in onnx_graphs.walk(model.graph):
        producers = [value.producer() for value in node.inputs if value is not None]
        before = [producer for producer in producers if producer is not None]
        order.add(node, *before)
        for owner in owners:
            order.add(owner.node, *before)
    try:
        order.prepare()
    except CycleError as error:
        node = error.args[1][0]
        given = f"{node.outputs[0].name!r}, which is computed of itself"
        checks.refuse(
            OWNER,
            "the model",
            given,
            "a graph without a cycle",
            "Correct the node.",
        )


def _is_in_order(model: ir.Model) -> bool:
    """Whether each node reads only what nodes before it give, and nothing of a node around it."""
    before: set[ir.Node | None] = {None}
    for node, owners in onnx_graphs.walk(model.graph):
        for value in node.inputs:
            if value is not None and value.producer() not in before:
                return False
        around = [owner.node for owner in owners]
        if around and any(value.producer() in around for value in node.inputs if value is not None):
            return False
        before.add(node)
    return True


def _warn_of_loops(found: Sequence[Outcome], keys: Keys) -> None:
    """Warns of nodes in several loops that draw by one sequence of keys, and no more alike."""
    alike: dict[Hashable, dict[Hashable, str]] = {}
    for each in found:
        key = keys.of(each.site.node)
        if key is None or not isinstance(each, Replaceable):
            continue
        name, loops = key
        if loops:
            nodes = alike.setdefault(name, {})
            nodes.setdefault(each.same, each.site.called)
    for nodes in alike.values():
        if len(nodes) > 1:
            named = few([repr(name) for name in nodes.values()])
            text = f"nodes in several loops share one sequence of keys: {named}. In the original "
            text += "they draw the same numbers, and now numbers of their own. To let them draw "
            text += "the same, put them into one loop"
            warnings.warn(text, stacklevel=shown.stacklevel())


def _of_key(outcome: Outcome, keys: Keys) -> Outcome:
    key = keys.of(outcome.site.node)
    if key is None or isinstance(outcome, Irreplaceable):
        return outcome
    same, changing = key
    return replace(outcome, same=same, changing=changing)


def _with_seeds(found: Sequence[Outcome], types: Types, *, keep: bool) -> list[Outcome]:
    """The nodes with what a runtime makes of their seeds; those that it ties share, if asked."""
    seeds = Seeds(types)
    read = []
    for each in found:
        read.append(seeds.of(each) if isinstance(each, Replaceable) else None)
    counts = Counter(seeded.seed for seeded in read if seeded is not None)
    outcomes: list[Outcome] = []
    for each, seeded in zip(found, read, strict=True):
        if isinstance(each, Replaceable) and seeded is not None:
            if counts[seeded.seed] > 1:
                seeded = seeds.with_size(each.site.node, seeded)
            same = seeded if keep else None
            changing = None
            if keep:
                changing = seeds.loops_that_keep_pace(each, seeded)
            site = replace(each.site, seeded=seeded)
            each = replace(each, site=site, same=same, changing=changing)
        outcomes.append(each)
    return _of_doubles(outcomes) if keep else outcomes


def _of_doubles(found: Sequence[Outcome]) -> list[Outcome]:
    """Lets Bernoullis of f64 compare uniforms of f64, where they share these with other draws.

    Alone they compare those of f32, which every runtime takes.
    """
    others = {
        each.same
        for each in found
        if isinstance(each, Replaceable)
        and each.same is not None
        and not isinstance(each.replacement, BernoulliReplacement)
    }

    def shared(each: Outcome) -> Outcome:
        if isinstance(each, Irreplaceable) or each.same not in others:
            return each
        if not isinstance(each.replacement, BernoulliReplacement):
            return each
        replacement = replace(each.replacement, keeps_double=True)
        return replace(each, replacement=replacement)

    return [shared(each) for each in found]


def _read(site: Site, types: Types) -> Outcome:
    version, read = _reader(site.node, site.version)
    try:
        if read is None:
            _refuse_unknown(site)
        _check_opset(site)
        _check_owners(site)
        seeds = None
        if version is not None:
            # It is no node of this package, so it has none of the seeds that those keep.
            site = replace(site, version=version.since)
            check_schema(site.node, site.owners, site.version)
        elif site.node.domain in foreign.TENSORFLOW_DOMAINS:
            count = len(site.node.outputs)
            if count != 1:
                site.refuse("the number of outputs", count, "1", "Correct the node.")
        replacement = read(site, types)
        if version is None:
            seeds = own_seeds(site.node)
            site = replace(site, seeds=seeds)
        random = Replaceable(
            site,
            replacement,
            seeds=seeds,
            share=share_of(site.node),
            doubt=doubt_of(site.node, types),
        )
        if version is not None:
            check_declared(site, random.replacement.dtype)
    except (TypeError, ValueError) as error:
        return Irreplaceable.of(site, error)
    return random


def _as_said(
    random: Replaceable,
    types: Types,
    generator: Generator,
    *,
    shares: bool,
) -> Outcome:
    said = generator_of(random.site.node)
    if said is generator or said.is_counter_based:
        return absorb(random, types, shares=shares)
    given = f"{said.alignment!r}, without a state"
    allowed = f"that of the rewrite, {generator.alignment!r}"
    remedy = f"Rewrite the model with alignment={said.alignment!r}."
    error = ValueRefusalError(random.site.title, "alignment", given, allowed, remedy)
    return Irreplaceable(random.site, error)


def is_random(node: ir.Node, opset: int | None, model: ir.Model) -> bool:
    """Whether a node draws random numbers, or may: one of ONNX, or of others by its name."""
    version = _version(node, opset)
    if version is not None:
        return _is_random(node, version)
    if node.domain == DOMAIN:
        # Whose function stands in the model is drawn by that function, as it is.
        is_given = node.op_identifier() in model.functions
        return awaits_state(node) or (lacks_state(node) and not is_given)
    if node.op_identifier() in model.functions:
        return False
    fused = fused_dropout(node)
    if fused is not None:
        return _drops(node, fused)
    return foreign.randomness(node, opset) is not None


def _version(node: ir.Node, opset: int | None) -> Version | None:
    """What ONNX says of a random operator of its own; None for all others."""
    if opset is None or node.domain not in onnx_graphs.STANDARD_DOMAINS:
        return None
    version = version_at(node.op_type, opset)
    # The cheap question first: most nodes are of no random operator.
    if version is None or foreign.has_inputs_of_tensorflow(node):
        return None
    return version


def _reader(
    node: ir.Node,
    opset: int | None,
) -> tuple[Version | None, Callable[[Site, Types], Replacement] | None]:
    """ONNX's version of a random node, and what reads it; None where there is none."""
    version = _version(node, opset)
    if version is not None:
        read = REPLACEMENT_OF[node.op_type]
        return version, lambda site, type_of: read(site, version.types, type_of)
    if fused_dropout(node) is not None:
        return None, read_bias_dropout
    if awaits_state(node) or lacks_state(node):
        return None, AwaitingReplacement.read
    if node.domain in foreign.TENSORFLOW_DOMAINS:
        kind = KINDS.get(node.op_type)
        if kind is None:
            return None, None
        return None, tensorflow_replacements.REPLACEMENT_OF[kind]
    return None, None


def _is_random(node: ir.Node, version: Version) -> bool:
    match version.random_when:
        case RandomWhen.ALWAYS:
            return True
        case RandomWhen.NEVER:
            return False
        case RandomWhen.IS_TEST_IS_ZERO:
            return node.attributes.get_int("is_test", 0) == 0
        case RandomWhen.TRAINING_MODE:
            return _drops(node, DROPOUT)


def drops_nothing(node: ir.Node, opset: int | None) -> bool:
    """Whether a node is a Dropout that only its ratio of 0 keeps from being random.

    Or a fused one that is not random.
    """
    fused = fused_dropout(node)
    if fused is not None:
        return not _drops(node, fused)
    version = _version(node, opset)
    if version is None or version.random_when is not RandomWhen.TRAINING_MODE:
        return False
    return _is_training(node, DROPOUT) and not _drops(node, DROPOUT)


def _drops(node: ir.Node, places: DropoutPlaces) -> bool:
    ratio = input_at(node, places.ratio)
    return _is_training(node, places) and not is_all(ratio, 0)


def _is_training(node: ir.Node, places: DropoutPlaces) -> bool:
    """Whether a dropout is, or may be, in training mode."""
    mode = input_at(node, places.mode)
    if mode is None:
        return False
    known = constant(mode)
    return known is None or bool(known.any())


def _refuse_unknown(site: Site) -> NoReturn:
    raise MayStayError(
        site.title,
        "the operator",
        f"{site.node.op_type}, {foreign.randomness(site.node, site.version)}",
        f"a random operator of ONNX ({', '.join(STANDARD_OPERATORS)}) or of TensorFlow (uniforms, "
        "normals, truncated normals, gammas, Poisson counts, multinomials, shuffles)",
        _WAY_OUT.get((site.node.domain, site.node.op_type), "Export the model with one of these"),
    )


def _check_opset(site: Site) -> None:
    """Refuses an opset in which nothing can replace the node."""
    if site.opset < OLDEST_OPSET:
        raise MayStayError(
            site.title,
            "the model's opset",
            site.opset,
            f"{OLDEST_OPSET} or newer",
            "Export the model again at a newer opset",
            " onnx.version_converter raises the opset too, but turns each Dropout into one that "
            "drops nothing.",
        )


def _check_owners(site: Site) -> None:
    """Refuses a subgraph that cannot carry a state."""
    for owner in site.owners:
        node = owner.node
        is_standard = node.domain in onnx_graphs.STANDARD_DOMAINS
        has_bodies = is_standard and node.op_type in _LOOPS_AND_BRANCHES
        is_old_scan = node.op_type == "Scan" and site.opset < 9
        if has_bodies and not is_old_scan:
            check_schema(node, site.owners, site.opset)
            continue
        name = onnx_graphs.label(node)
        if node.domain:
            name = f"{node.domain}::{name}"
        given = f"a subgraph of {name}, which cannot carry a state"
        allowed = "the main graph, If, Loop, or Scan from opset 9 on"
        remedy = "Rewrite it as one of these"
        if node.op_type == "Scan":
            remedy += " (onnx.version_converter raises the opset of a Scan)"
        elif is_map(node):
            remedy = "Declare the types of what its body gives in the graph"
        raise MayStayError(site.title, "its place", given, allowed, remedy)


def inline_random_functions(model: ir.Model) -> None:
    """Inlines the functions that hold a random node, and those that call them.

    A function that is called twice would draw the same numbers twice, so each call needs its own
    nodes and streams. Functions without a random node stay functions. A SequenceMap is a function,
    too, whose body is a Loop.
    """
    holding = set()
    for identifier, function in model.functions.items():
        for node in function.all_nodes():
            opset = onnx_graphs.opset_of(function.opset_imports, node.domain)
            if is_random(node, opset, model) or drops_nothing(node, opset):
                holding.add(identifier)
                node.meta[FUNCTION_OF_ORIGIN] = f"{function.domain}::{function.name}"
    inline(model, holding, OWNER, "functions with random nodes")

    def draws(node: ir.Node) -> bool:
        opset = onnx_graphs.opset_of(model.opset_imports, node.domain)
        return is_random(node, opset, model)

    expand_maps(model, draws)
