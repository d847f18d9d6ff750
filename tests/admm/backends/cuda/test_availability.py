"""The advice to a user where there is no GPU, or it fails."""

import os
import subprocess
import sys

import pytest

from gridveil import AgentOptions, GridveilError, Ledger, load_case, release
from gridveil.admm.backends.cuda.availability import advice_on, why_no_gpu
from gridveil.admm.device import chosen_device
from gridveil.device import Device, on_device

WITHOUT_GPU = pytest.mark.skipif(why_no_gpu() is None, reason="there is a GPU here")


def gridveil(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "gridveil", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "500"},
        check=False,
    )


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("CUDA_ERROR_OUT_OF_MEMORY", "fewer draws"),
        ("CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "driver is too old"),
        ("CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "gridveil[cuda12]"),
        ('Function "cuLaunchKernelEx" not found', "driver is too old"),
        ("ptxas fatal: Unsupported .version 9.0", "driver is too old"),
        ("GPU compute capability 6.1 is not supported (requires >=7.5)", "GPU is too old"),
        ("CUDA_ERROR_NO_DEVICE", "no NVIDIA GPU"),
        ("CUDA_ERROR_LAUNCH_FAILED", "in a new process"),
        ("CUDA_ERROR_ECC_UNCORRECTABLE", "in a new process"),
    ],
)
def test_a_failure_of_the_gpu_comes_with_advice_and_offers_the_cpu(name, advice):
    text = advice_on(RuntimeError(f"[999] Call to something results in {name}"))
    assert advice in text
    assert "--device cpu" in text


@WITHOUT_GPU
@pytest.mark.parametrize(
    ("problem", "advice"),
    [
        ("Error at driver init: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)", "update it"),
        ("CUDA driver library cannot be found", "no NVIDIA GPU can be used here"),
        (None, "the compiler for GPUs was not found"),
    ],
)
def test_the_reason_why_a_driver_does_not_start_is_given(monkeypatch, problem, advice):
    monkeypatch.setattr("numba.cuda.cuda_error", lambda: problem)
    reason = why_no_gpu()
    assert advice in reason
    assert "--device cpu" in reason


def test_a_gpu_that_cannot_run_a_kernel_is_refused():
    # The simulator stands for a GPU that seems to be there; what it is made to say is a driver's.
    code = (
        "from gridveil.admm.backends.cuda import availability\n"
        "from numba import cuda\n"
        "assert availability.why_no_gpu() is None\n"
        "def fail(): raise RuntimeError('CUDA_ERROR_UNSUPPORTED_PTX_VERSION')\n"
        "cuda.synchronize = fail\n"
        "print(availability.why_no_gpu())"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
    )
    assert "driver is too old" in result.stdout


def test_a_device_must_be_one():
    with pytest.raises(GridveilError, match="device: 'tpu' is none of cpu, gpu, auto"):
        AgentOptions(device="tpu")


@WITHOUT_GPU
def test_a_gpu_that_is_not_there_is_refused_and_auto_does_without():
    with pytest.raises(GridveilError, match="--device cpu"):
        chosen_device(Device.GPU, 10**6)
    assert chosen_device(Device.AUTO, 10**6) is Device.CPU


def test_without_the_extra_its_name_is_given():
    code = (
        "import sys; sys.modules['numba_cuda'] = None\n"
        "from gridveil.admm.backends.cuda.availability import why_no_gpu; print(why_no_gpu())"
    )
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "pip install 'gridveil[cuda]'" in result.stdout


@WITHOUT_GPU
@pytest.mark.parametrize(
    "command",
    [
        ("simulate", "case5_pjm", "--method", "admm"),
        ("release", "case5_pjm", "--method", "admm", "-o", "nowhere"),
        ("reproduce", "table-polar-laplace"),
    ],
)
def test_commands_refuse_it_before_any_work(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRIDVEIL_LEDGER", str(tmp_path / "ledger"))
    result = gridveil(*command, "--device", "cuda")
    assert result.returncode == 2
    assert "--device cpu" in result.stderr
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())


@WITHOUT_GPU
def test_a_release_in_python_is_refused_before_it_is_charged(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    options = AgentOptions(device="cuda", polish=True)
    network = load_case("case5_pjm")
    with pytest.raises(GridveilError, match="--device cpu"):
        release(
            network, ledger, epsilon=2, beta=0.1, release_id="one", cost_budget=1, method="admm",
            agents=options,
        )  # fmt: skip
    assert not list(ledger.accounts())


def test_the_name_that_the_gpu_had_is_understood():
    assert AgentOptions(device="cuda").device is Device.GPU


def test_agents_take_the_device_that_is_chosen_for_everything():
    with on_device("gpu"):
        assert chosen_device(Device.CPU, 10**6) is Device.CPU
        if why_no_gpu() is None:
            assert chosen_device(None, 10**6) is Device.GPU
        else:
            with pytest.raises(GridveilError, match="--device cpu"):
                chosen_device(None, 10**6)
    assert chosen_device(None, 10**6) is Device.CPU
