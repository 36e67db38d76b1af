"""The behaviours that the Python operators are tested for, by the same tests."""

from __future__ import annotations

from test_openvino import (  # noqa: F401
    test_a_model_s_own_op_seed_name_and_attributes_are_read,
    test_a_state_computed_from_constants_is_exact,
    test_a_state_from_another_node_of_ours_is_exact,
    test_a_state_of_a_low_constant_and_an_input_is_exact,
    test_an_unfolded_node_of_constants_keeps_its_high_bits,
    test_bits_are_the_reference_s_where_the_counter_carries,
    test_bounds_computed_from_constants_are_exact,
    test_factories_take_nodes_arrays_numbers_and_states,
    test_flushing_of_subnormals_in_openvino_changes_no_bit,
    test_many_requests_at_once_each_get_their_own_answer,
    test_narrow_bounds_may_be_inputs,
    test_shapes_from_a_scalar_to_rank_8_static_and_dynamic,
    test_the_built_in_operator_of_the_same_name_lives_beside_ours,
    test_the_next_state_has_the_state_s_shape,
    test_the_state_carried_on_draws_what_one_call_draws,
    test_uniform_values_are_the_reference_s_at_every_precision,
    test_wide_bounds_that_are_no_constants_are_refused_when_the_model_is_read,
)
