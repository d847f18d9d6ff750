"""The network: its arrays, its case files, its checks and its flow equations."""
