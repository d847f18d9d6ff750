from gridveil.network.library import load_case, save_case
