"""Where central programs are solved: a GPU that cannot be used, or fails, and the CPU after it."""

import os
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pytest

from gridveil import GridveilError, Ledger, load_case, release, solve_acopf, using, verify
from gridveil.device import Device, DeviceError, DeviceWarning, known_advice
from gridveil.opf import devices
from gridveil.opf.acopf import acopf_program
from gridveil.opf.batches import minimise_many
from gridveil.opf.devices import cpu_steps_in, is_out_of_memory, solved_on_device
from gridveil.opf.interior_point.cpu.backend import CPU
from gridveil.opf.interior_point.cuda import cudss, recording
from gridveil.opf.interior_point.cuda.availability import why_no_gpu
from gridveil.opf.program import batch_of
from gridveil.opf.start import starting_point

NO_GPU = why_no_gpu()
WITHOUT_GPU = pytest.mark.skipif(NO_GPU is None, reason="there is a GPU here")
COMPILER = shutil.which("cc") or shutil.which("gcc")


class OutOfMemoryError(MemoryError):
    """As CuPy's."""

    __module__ = "cupy.cuda.memory"


class CUDARuntimeError(RuntimeError):
    """As CuPy's."""

    __module__ = "cupy_backends.cuda.api.runtime"


class FailingGPU:
    """A GPU that fails at the first thing asked of it."""

    def __init__(self, error):
        self.error = error

    def __getattr__(self, name):
        raise self.error


@pytest.fixture
def failing(monkeypatch):
    def fail(error):
        monkeypatch.setattr(devices, "_why_no_gpu", lambda: None)

        def chosen(buses, programs):
            return CPU() if devices.current_device() is Device.CPU else FailingGPU(error)

        monkeypatch.setattr(devices, "_backend", chosen)

    return fail


def gridveil(*arguments, path=(), **environment):
    places = [*map(str, path), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.run(
        [sys.executable, "-m", "gridveil", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "500", "PYTHONPATH": os.pathsep.join(places), **environment},
        check=False,
    )


@WITHOUT_GPU
@pytest.mark.parametrize(
    "command",
    [
        ("release", "case5_pjm", "-o", "nowhere"),
        ("plan", "case5_pjm", "--quick"),
        ("verify", "nowhere"),
    ],
)
def test_commands_refuse_a_gpu_that_is_not_there_before_any_work(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = gridveil(*command, "--device", "gpu", GRIDVEIL_LEDGER=str(tmp_path / "ledger"))
    assert result.returncode == 2
    if command[0] != "verify":  # there is no folder to verify either
        assert result.stderr.startswith("error: device gpu: ")
        assert "pip install 'gridveil[cuda]'" in result.stderr
        assert "--device cpu" in result.stderr
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())


@WITHOUT_GPU
def test_a_gpu_that_is_not_there_is_refused_in_python_and_auto_says_that_it_does_without(
    monkeypatch,
):
    with pytest.raises(DeviceError, match="device gpu: "), using(device="gpu"):
        pass
    with pytest.raises(GridveilError, match="device: 'tpu' is none of cpu, gpu, auto"):
        solve_acopf("case5_pjm", device="tpu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small = solve_acopf("case5_pjm", solver="interior-point", device="auto")
    monkeypatch.setattr(devices, "_GPU_FROM", 1)
    with pytest.warns(DeviceWarning, match="solved on the CPU: .*gridveil"):
        found = solve_acopf("case5_pjm", solver="interior-point", device="auto")
    assert found.cost == small.cost
    assert found.solver.device is Device.CPU
    assert found.figures()["device"] == "cpu"


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (OutOfMemoryError("Out of memory allocating 1,024 bytes"), "the GPU is out of memory"),
        (CUDARuntimeError("cudaErrorIllegalAddress: secret"), "the GPU failed .CUDARuntimeError."),
        (DeviceError("cuDSS failed in Execute: the GPU failed"), "cuDSS failed in Execute"),
    ],
)
def test_a_gpu_that_fails_ends_a_solve_with_advice_or_the_cpu_steps_in(failing, error, advice):
    failing(error)
    expected = solve_acopf("case5_pjm", solver="interior-point")
    with pytest.raises(DeviceError, match=f"device gpu: {advice}") as refused:
        solve_acopf("case5_pjm", device="gpu")
    assert "secret" not in str(refused.value)
    with pytest.warns(DeviceWarning, match=f"solved on the CPU, since {advice}"):
        found = solve_acopf("case5_pjm", device="auto", solver="interior-point")
    assert found.cost == expected.cost
    with cpu_steps_in(), pytest.warns(DeviceWarning, match=advice):
        found = solve_acopf("case5_pjm", device="gpu")
    assert found.cost == expected.cost


def test_other_errors_are_no_failures_of_a_gpu(failing):
    failing(RuntimeError("of another kind"))
    with pytest.raises(RuntimeError, match="of another kind"):
        solve_acopf("case5_pjm", device="gpu")
    assert not is_out_of_memory(MemoryError())  # of this machine
    assert is_out_of_memory(OutOfMemoryError())


def test_a_gpu_that_fails_after_the_draw_does_not_lose_it(failing, tmp_path):
    failing(CUDARuntimeError("cudaErrorECCUncorrectable"))
    ledger = Ledger(tmp_path / "ledger.sqlite")
    with pytest.warns(DeviceWarning, match="solved on the CPU, since the GPU failed"):
        made = release("case5_pjm", ledger, beta=0.05, release_id="one", device="gpu")
    assert {solve.device for solve in made.certificate.solves} == {"cpu"}
    made.save(tmp_path / "out")
    assert verify(tmp_path / "out").ok


def test_a_batch_that_does_not_fit_is_halved(monkeypatch):
    from gridveil.opf import batches

    network = load_case("case5_pjm")
    builder = acopf_program(network)
    program = builder.build()
    with using("interior-point"):
        start = builder.start(program, starting_point(network))
    tried, solve = [], batches.minimise_batch

    def fits(program, starts, *arguments, **options):
        tried.append(len(starts))
        if len(starts) > 3:
            raise OutOfMemoryError
        return solve(program, starts, *arguments, **options)

    monkeypatch.setattr(batches, "minimise_batch", fits)
    monkeypatch.setattr(batches, "CPU", type("Another", (), {}))  # what is asked for is no CPU
    done = []
    with using("interior-point"):
        batch, starts = batch_of([program] * 9), np.tile(start, (9, 1))
        found = minimise_many(batch, starts, progress=done.append)
    assert tried == [9, 4, 2, 2, 5, 2, 3]
    assert done == [2, 4, 6, 9]
    assert [one.code for one in found] == [0] * 9


FAKE = """
class CUDARuntimeError(RuntimeError):
    pass
CUDARuntimeError.__module__ = "cupy_backends.cuda.api.runtime"
import numpy as _np
from numpy import *
class cuda:
    class runtime:
        @staticmethod
        def getDeviceCount():
            {count}
    class _Stream:
        ptr = 0
        def synchronize(self):
            {synchronize}
        def __enter__(self):
            return self
        def __exit__(self, *raised):
            pass
    @staticmethod
    def get_current_stream():
        return cuda._Stream()
    @staticmethod
    def Stream(non_blocking):
        return cuda._Stream()
class _Array(_np.ndarray):
    class data:
        ptr = 0
def zeros(n, dtype=float):
    return _np.zeros(n, dtype).view(_Array)
def empty(n):
    return zeros(n)
def ones(n):
    return zeros(n)
def asarray(values, dtype=None):
    return _np.asarray(values, dtype).view(_Array)
def RawKernel(source, name):
    return lambda *arguments: None
"""


def fake(folder, count="return 1", synchronize="pass", cudss=None):
    """Write a package in CuPy's place, and a library in cuDSS's."""
    (folder / "cupy.py").write_text(FAKE.format(count=count, synchronize=synchronize))
    if cudss is not None:
        library = folder / "nvidia" / "cu13" / "lib" / "libcudss.so.1"
        library.parent.mkdir(parents=True)
        if cudss.startswith("int"):
            source = folder / "cudss.c"
            source.write_text(cudss)
            subprocess.run([COMPILER, "-shared", "-o", str(library), str(source)], check=True)
        else:
            library.write_text(cudss)
    return folder


TOO_OLD = "cudaErrorInsufficientDriver: CUDA driver version is insufficient"
DRIVER = f'raise CUDARuntimeError("{TOO_OLD}")'


@pytest.mark.parametrize(
    ("broken", "advice"),
    [
        ({"count": DRIVER}, "the NVIDIA driver is too old"),
        (
            {"count": 'raise CUDARuntimeError("cudaErrorNoDevice: no CUDA-capable device")'},
            "no NVIDIA GPU can be used here",
        ),
        ({"count": "return 0"}, "no NVIDIA GPU can be used here"),
        (
            {"synchronize": 'raise CUDARuntimeError("cudaErrorUnsupportedPtxVersion: the PTX")'},
            "the NVIDIA driver is too old",
        ),
        ({"count": 'raise ImportError("libcudart.so.13: cannot open")'}, "CuPy cannot use a GPU"),
        ({"cudss": "no library"}, "cuDSS 1.0 was not found"),
        pytest.param(
            {"cudss": "int cudssGetProperty(int a, int* b) { return 0; }"},
            "cuDSS is older than 1.0",
            marks=pytest.mark.skipif(COMPILER is None, reason="no C compiler"),
        ),
    ],
)
def test_what_is_missing_is_said(tmp_path, monkeypatch, broken, advice):
    monkeypatch.syspath_prepend(fake(tmp_path, **broken))
    for name in ("cupy", "nvidia"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    cudss._library.cache_clear()
    recording.process_stream.cache_clear()
    devices._why_no_gpu.cache_clear()
    with pytest.raises(DeviceError, match="device gpu: ") as refused:
        solve_acopf("case5_pjm", device="gpu")
    devices._why_no_gpu.cache_clear()
    recording.process_stream.cache_clear()
    assert advice in str(refused.value)
    assert "--device cpu" in str(refused.value)
    sys.modules.pop("cupy", None)


def test_auto_says_on_standard_error_why_it_does_without(tmp_path):
    # Its threshold is that of continental networks: lowered, so that a small one will do.
    (tmp_path / "sitecustomize.py").write_text(
        "import gridveil.opf.devices as devices\ndevices._GPU_FROM = 1\n"
    )
    place = fake(tmp_path, count=DRIVER)
    command = ("solve", "case5_pjm", "--solver", "interior-point", "--device", "auto", "--json")
    result = gridveil(*command, path=[place])
    assert result.returncode == 0
    assert result.stderr.startswith("solved on the CPU: the NVIDIA driver is too old")
    assert result.stdout.startswith("{")


def test_causes_are_known_by_the_texts_of_both_libraries():
    for text in ("CUDA_ERROR_INSUFFICIENT_DRIVER", "cudaErrorInsufficientDriver: …"):
        assert "driver is too old" in known_advice(text)
    assert known_advice("something else") is None


@pytest.mark.skipif(NO_GPU is not None, reason=str(NO_GPU))
def test_a_gpu_finds_what_the_cpu_finds():
    on_cpu = solve_acopf("case118_ieee", solver="interior-point")
    on_gpu = solve_acopf("case118_ieee", device="gpu")
    assert on_gpu.solver.device is Device.GPU
    assert on_gpu.iterations == on_cpu.iterations
    assert on_gpu.point.p == pytest.approx(on_cpu.point.p, abs=1e-8)


def test_a_cpu_is_a_cpu():
    assert isinstance(solved_on_device(lambda backend: backend, 10**6), CPU)
