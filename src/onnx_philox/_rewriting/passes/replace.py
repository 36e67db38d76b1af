"""The pass that puts the nodes of this package in the place of the random ones."""

from __future__ import annotations

import onnx_ir as ir

from onnx_philox._contract.operators import DOMAIN, OPSET_VERSION, STATE_WORDS, Operator
from onnx_philox._rewriting.nodes.emitter import Emitter, Names
from onnx_philox._rewriting.nodes.foreign import KEY_MAKERS, STATELESS
from onnx_philox._rewriting.nodes.site import Site
from onnx_philox._rewriting.nodes.standard import onnx_opset_of


class Replace(ir.passes.InPlacePass):
    """Replaces every site; names, types and whoever reads the outputs stay as they are."""

    def __init__(self, sites: list[Site], names: Names, seed: int | None) -> None:
        super().__init__()
        self._sites = sites
        self._names = names
        self._seed = seed

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """Replaces."""
        for site in self._sites:
            emitter = Emitter(self._names, onnx_opset_of(model.opset_imports), f"{site.stream}.")
            self._replace(model, site, emitter)
        model.opset_imports[DOMAIN] = OPSET_VERSION
        return ir.passes.PassResult(model, modified=bool(self._sites))

    def _replace(self, model: ir.Model, site: Site, emitter: Emitter) -> None:
        old, graph = site.node, site.node.graph
        assert site.draw is not None
        assert graph is not None

        def draw(
            op: Operator,
            dtype: ir.DataType,
            inputs: dict[str, ir.Value],
            attributes: dict[str, int | str],
        ) -> ir.Value:
            assert site.state is not None
            assert site.stream is not None
            seeds = {"global_seed": self._seed or 0, "op_seed": site.stream}
            ordered = [{**inputs, "state": site.state}[declared.name] for declared in op.inputs]
            values = emitter.emit(
                op.name, "values", ordered, dtype, None, {**attributes, **seeds}, DOMAIN
            )
            node = values.producer()
            assert node is not None
            if old.name:
                node.name = old.name
            node.doc_string = old.doc_string
            node.metadata_props.update(old.metadata_props)
            if site.next_state_cast is not None:
                node.resize_outputs(2)
                shape = [STATE_WORDS]
                emitter.declare(node.outputs[1], "drawn_state", ir.DataType.UINT32, shape)
                site.next_state_cast.replace_input_with(0, node.outputs[1])
            return values

        new = site.draw.emit(old, emitter, draw)
        site.last.prepend(emitter.nodes)
        for ours, theirs in zip(new, site.last.outputs, strict=False):
            _take_over(ours, theirs)
        for gone in (*reversed(site.absorbed), old):
            inputs = [value for value in gone.inputs if value is not None]
            graph.remove(gone, safe=True)
            for value in inputs:
                _remove_unused(value, model if old.op_type.startswith(STATELESS) else None)


def _take_over(ours: ir.Value, theirs: ir.Value) -> None:
    """Puts a value in another's place, under its name and with all that is said of it."""
    name = theirs.name
    theirs.name = None
    ours.name = name
    ours.type = theirs.type or ours.type
    ours.shape = theirs.shape or ours.shape
    ours.doc_string = theirs.doc_string
    ours.metadata_props.update(theirs.metadata_props)
    ours.meta.update(theirs.meta)
    theirs.replace_all_uses_with(ours, replace_graph_outputs=True)


def _remove_unused(value: ir.Value, seeded: ir.Model | None) -> None:
    """Removes what only the old node read: a constant, or the seed or key that TensorFlow drew by.

    ONNX Runtime warns of such constants, no runtime knows TensorFlow's operators, and a seed that
    does nothing would mislead. `seeded` is the model, where the old node had one as an input.
    """
    if value.uses() or value.is_graph_output():
        return
    if value.is_graph_input():
        if seeded is None or value not in seeded.graph.inputs:
            return
        seeded.graph.inputs.remove(value)
    if value.is_initializer() and value.graph is not None and value.name is not None:
        del value.graph.initializers[value.name]
        return
    node = value.producer()
    if node is None or node.graph is None or node.op_type not in ("Constant", *KEY_MAKERS):
        return
    if any(output.uses() or output.is_graph_output() for output in node.outputs):
        return
    inputs = [given for given in node.inputs if given is not None]
    node.graph.remove(node, safe=True)
    for given in inputs:
        _remove_unused(given, seeded)
