"""What the tool counts in the text of HLO, thunks and PTX, on pieces written by hand."""

import pytest
from gpu_compile import model
from gpu_compile.hlo import Module
from gpu_compile.launches import Kernel, parse_kernel, parse_thunks
from gpu_compile.model import Count, Totals

HLO = """\
HloModule jit_f, is_scheduled=true

FunctionNames
1 "main"
2 "outer"
3 "outer.<locals>.inner"
4 "<lambda>"

FileLocations
1 {file_name_id=1 function_name_id=1 line=1}
2 {file_name_id=1 function_name_id=2 line=2}
3 {file_name_id=1 function_name_id=3 line=3}
4 {file_name_id=1 function_name_id=4 line=3}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}
3 {file_location_id=3 parent_frame_id=3}
4 {file_location_id=4 parent_frame_id=4}

%gathers (p.0: f32[1000,4], p.1: s32[64,1]) -> f32[64,4] {
  %p.0 = f32[1000,4]{1,0} parameter(0)
  %p.1 = s32[64,1]{1,0} parameter(1)
  ROOT %taken = f32[64,4]{1,0} gather(%p.0, %p.1), offset_dims={1}, slice_sizes={1,4}
}

%scatters (p.2: s32[500], p.3: s32[64,1], p.4: s32[64]) -> s32[500] {
  %p.2 = s32[500]{0} parameter(0)
  %p.3 = s32[64,1]{1,0} parameter(1)
  %p.4 = s32[64]{0} parameter(2)
  ROOT %added = s32[500]{0} scatter(%p.2, %p.3, %p.4), to_apply=%sum
}

ENTRY %main (a: f32[1000,4], i: s32[64,1], t: s32[500]) -> f32[64,4] {
  %a = f32[1000,4]{1,0} parameter(0)
  %i = s32[64,1]{1,0} parameter(1)
  %t = s32[500]{0} parameter(2)
  %step = f32[64,4]{1,0} fusion(%a, %i), calls=%gathers, metadata={stack_frame_id=3}
  %u = s32[64]{0} constant({...})
  %count = s32[500]{0} fusion(%t, %i, %u), kind=kInput, calls=%scatters
  %known = (s32[], f32[64,4]{1,0}) while(%i), condition=%c, body=%b, \
metadata={stack_frame_id=2}, backend_config={"known_trip_count":{"n":"5"}}
  %open = (s32[]) while(%i), condition=%c, body=%b, metadata={stack_frame_id=4}
  %branch = f32[64,4]{1,0} conditional(%i), branch_computations={%b, %c}
}
"""
NAMES = dict(enumerate(["known", "step", "open", "step", "count", "branch", "step", "count"], 1))
THUNKS = """\
001: kWhile         [source | next=003 (1)]
condition:
    009: kCustomKernel [source | sink] never grid: [1, 1, 1] threads: [1, 1, 1]
  body:
    000: kCommandBuffer [source | sink]
        002: kCustomKernel [source | sink] step grid: [2, 1, 1] threads: [32, 1, 1]
003: kWhile         [prev=001 (1) | next=006 (1)]
condition:
    004: kCustomKernel [source | sink] step grid: [2, 1, 1] threads: [32, 1, 1]
  body:
    005: kCopy [source | sink] kCopy
006: kConditional   [prev=003 (1) | sink]
  branch_0:
    No thunks.  branch_1:
    007: kCustomKernel [source | sink] step grid: [2, 1, 1] threads: [32, 1, 1]
    008: kCustomKernel [source | sink] count grid: [1, 1, 1] threads: [32, 1, 1]
"""
KERNELS = {"step": Kernel(10, 4, {}), "count": Kernel(7, 0, {})}


@pytest.fixture(scope="module")
def module():
    return Module(HLO)


def counted(module, **changes):
    settings = {"rounds": {"inner": 3}} | changes
    return Count(parse_thunks(THUNKS, NAMES), module, KERNELS, **settings)


def test_functions_are_named_innermost_first(module):
    assert module.functions_of(module.find("open")) == [
        "<lambda>",
        "outer.<locals>.inner",
        "outer",
        "main",
    ]
    assert module.functions_of(module.find("count")) == []


def test_a_gather_reads_what_it_takes_and_a_scatter_what_it_changes(module):
    # Indices 64 * 4 bytes, rows 64 * 4 * 4 read and written; a row of four counts as one value.
    assert module.traffic(module.find("step")) == (256 + 1024 + 1024, 64)
    # Indices and updates once; of the table 64 cells read and written.
    assert module.traffic(module.find("count")) == (256 + 256 + 2 * 256, 64)


def test_rounds_are_known_to_xla_or_told_or_one(module):
    loops = {loop.function: loop for loop in counted(module).loops}
    assert (loops["outer"].rounds, loops["outer"].is_known) == (5, True)
    assert (loops["inner"].rounds, loops["inner"].is_known) == (3, False)
    untold = counted(module, rounds={})
    assert untold.guessed() == ["inner"]
    assert {loop.rounds for loop in untold.loops} == {5, 1}


def test_a_loop_of_unknown_length_waits_before_each_round_and_at_its_end(module):
    totals = counted(module).totals
    # Five rounds of a graph with a kernel; four conditions, three copies; the longer branch.
    assert totals.host_waits == 4 + 1
    assert totals.kernels == 5 + 4 + 2
    assert totals.copies == 3
    assert totals.graphs == 5


def test_instructions_are_those_of_all_threads_and_of_the_loop_within(module):
    count = counted(module, kernel_rounds=9)
    per_step = 64 * (10 + 8 * 4)
    assert count.totals.instructions == (5 + 4 + 1) * per_step + 32 * 7
    assert count.instructions_in("inner") == 10 * per_step
    assert count.instructions_in("nowhere") == 0


def test_the_model_of_time_adds_launches_graphs_and_waits(module):
    count = counted(module)
    in_graphs = 5 * (model.GRAPH_US + model.LEAST_US)
    by_themselves = (4 + 3 + 2) * model.LAUNCH_US
    assert count.totals.us == pytest.approx(in_graphs + by_themselves + 5 * model.WAIT_US)
    large = Totals(us=1)
    large.add(count.totals, 2)
    assert large.us == 1 + 2 * count.totals.us


def test_a_branch_in_a_graph_stops_nobody(module):
    branch = THUNKS[THUNKS.index("006:") :].replace("thunks.", "thunks.    ").splitlines()
    inside = "\n    ".join(["000: kCommandBuffer [source | sink]", *branch])
    totals = Count(parse_thunks(inside, NAMES), module, KERNELS, {}).totals
    assert (totals.host_waits, totals.kernels, totals.graphs) == (0, 2, 1)


def test_ptx_is_counted_by_instruction_and_by_what_is_watched():
    kernel = parse_kernel("""
	.reg .f32 %f<4>;
	ld.param.u64 %rd1, [a];
$L__BB0_1:
	div.full.f32 %f1, %f2, %f3;
	atom.global.cas.b32 %r1, [%rd1], %r2, %r3;
	@%p1 bra $L__BB0_1;
	fma.rn.f32 %f1, %f1, %f2, %f3;
	lg2.approx.ftz.f32 %f1, %f1;
	ret;
""")
    assert (kernel.n_instructions, kernel.n_in_loop) == (7, 3)
    assert set(kernel.found.values()) == {1}
