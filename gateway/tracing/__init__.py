"""Traces for OpenTelemetry: whether they are wanted, and the library there (`choosing`), and how
spans become its own (`otel`), which alone imports it.
"""
