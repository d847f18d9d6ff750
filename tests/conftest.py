"""Settings for the whole suite."""

import signal

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.load_profile("fixed")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as shells start what runs behind them
    signal.signal(signal.SIGINT, signal.default_int_handler)
