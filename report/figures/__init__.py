"""Figures for papers: charts of many runs as SVG and PDF, with the CSV behind each."""

from .drawing import panels_csv
from .figure_table import FigureTable
from .paper import FigureWidth, paper_files, read_width
from .quantities import NO_COMPUTATION, OF_ANY_RUN, OUTCOME
from .request import (
    FigureRequest,
    check_request,
    check_request_before,
    default_requests,
    read_request,
)
from .rows import run_figures, run_rows
from .writing import NOT_DRAWN, write_figures

__all__ = [
    "NOT_DRAWN",
    "NO_COMPUTATION",
    "OF_ANY_RUN",
    "OUTCOME",
    "FigureRequest",
    "FigureTable",
    "FigureWidth",
    "panels_csv",
    "paper_files",
    "check_request",
    "check_request_before",
    "default_requests",
    "read_request",
    "read_width",
    "run_figures",
    "run_rows",
    "write_figures",
]
