"""Histogram trees and forests as flat arrays; nothing here knows of rankings."""
