"""Writes models for other runtimes."""

from hardalign.export.pair import METADATA, export_onnx, step_file

__all__ = ["METADATA", "export_onnx", "step_file"]
